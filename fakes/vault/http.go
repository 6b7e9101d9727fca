package vault

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// failure is an answer that is no success.
type failure struct {
	status int
	texts  []string
}

func (f *failure) Error() string { return strings.Join(f.texts, ", ") }

func fail(status int, texts ...string) error { return &failure{status, texts} }

var errForbidden = fail(http.StatusForbidden, "permission denied")

// bodyMax is the size of the largest body.
const bodyMax = 32 << 20

// ServeHTTP implements http.Handler.
func (v *Vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	body := map[string]any{}
	if data, err := io.ReadAll(io.LimitReader(r.Body, bodyMax)); err != nil || len(data) > 0 && json.Unmarshal(data, &body) != nil {
		v.reply(w, nil, fail(http.StatusBadRequest, "failed to parse JSON input: invalid character"))
		return
	}
	if !ok {
		v.reply(w, nil, fail(http.StatusNotFound))
		return
	}
	answer, err := v.handle(r, path, body)
	v.reply(w, answer, err)
}

func (v *Vault) handle(r *http.Request, path string, body map[string]any) (any, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests[path]++
	if v.answer != nil {
		if status, text := v.answer(path); status != 0 {
			return nil, fail(status, text)
		}
	}
	switch namespace := strings.Trim(r.Header.Get("X-Vault-Namespace"), "/"); {
	case v.sealed:
		return nil, fail(http.StatusServiceUnavailable, "Vault is sealed")
	case namespace != v.cfg.Namespace:
		return nil, fail(http.StatusNotFound, "no handler for route \""+path+"\". route entry not found.")
	}
	if r.Method == http.MethodGet && path == "auth/token/lookup-self" || r.Method != http.MethodGet && path == "auth/token/renew-self" {
		return v.self(r, path, body)
	}
	if path == "auth/approle/login" && r.Method != http.MethodGet {
		return v.login(body)
	}
	if err := v.allows(r, path); err != nil {
		return nil, err
	}
	return v.transit(r.Method, path, body)
}

// allows checks the token of a request.
func (v *Vault) allows(r *http.Request, path string) error {
	t, err := v.token(r)
	if err != nil {
		return err
	}
	if t.allowed != nil && !t.allowed[path] {
		return fail(http.StatusForbidden, "1 error occurred:\n\t* permission denied\n\n")
	}
	return nil
}

// token returns the token of a request.
func (v *Vault) token(r *http.Request) (*token, error) {
	t := v.tokens[r.Header.Get("X-Vault-Token")]
	if t == nil || !t.expires.IsZero() && !v.cfg.Clock.Now().Before(t.expires) {
		return nil, errForbidden
	}
	return t, nil
}

// reply writes an answer, or why there is none.
func (v *Vault) reply(w http.ResponseWriter, answer any, err error) {
	w.Header().Set("Content-Type", "application/json")
	var f *failure
	switch {
	case errors.As(err, &f):
		if f.status >= 300 && f.status < 400 {
			w.Header().Set("Location", f.Error())
		}
		w.WriteHeader(f.status)
		answer = map[string]any{"errors": append([]string{}, f.texts...)}
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone needs none
}
