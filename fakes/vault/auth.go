package vault

import (
	"net/http"
	"time"
)

// login is that of AppRole.
func (v *Vault) login(body map[string]any) (any, error) {
	id, _ := body["role_id"].(string)
	secret, _ := body["secret_id"].(string)
	r := v.roles[id]
	switch {
	case id == "":
		return nil, fail(http.StatusBadRequest, "missing role_id")
	case r == nil:
		return nil, fail(http.StatusBadRequest, "invalid role or secret ID")
	case secret == "":
		return nil, fail(http.StatusBadRequest, "missing secret_id")
	case secret != r.SecretID:
		return nil, fail(http.StatusBadRequest, "invalid role or secret ID")
	}
	name := v.issue(r.TTL, !r.Batch, r.Allowed)
	return auth(name, v.tokens[name]), nil
}

func auth(name string, t *token) map[string]any {
	return map[string]any{"auth": map[string]any{
		"client_token": name, "lease_duration": int(t.ttl / time.Second), "renewable": t.renewable,
	}}
}

// self is what a token may ask about itself, by the policy default.
func (v *Vault) self(r *http.Request, path string, _ map[string]any) (any, error) {
	t, err := v.token(r)
	if err != nil {
		return nil, err
	}
	if path == "auth/token/renew-self" {
		if !t.renewable {
			return nil, fail(http.StatusBadRequest, "lease is not renewable")
		}
		t.expires = v.cfg.Clock.Now().Add(t.ttl)
		return auth(r.Header.Get("X-Vault-Token"), t), nil
	}
	left := 0
	if !t.expires.IsZero() {
		left = int(t.expires.Sub(v.cfg.Clock.Now()) / time.Second)
	}
	return map[string]any{"data": map[string]any{"ttl": left, "renewable": t.renewable}}, nil
}
