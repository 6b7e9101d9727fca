package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/protected"
)

// credentialMax is the size of the largest file with a token or an id.
const credentialMax = 64 << 10

// session has the token for requests. It comes from a file, or from a login with the
// ids of a role; in either case the files are read anew when it has to be replaced.
type session struct {
	cfg    *Config
	client *client

	mu    sync.Mutex
	token string
	file  string        // the token that was in the file when token was taken from there
	renew time.Duration // when, on the monotonic clock; 0 for never
	ends  time.Duration // likewise
}

// lease is what a Vault says of a token.
type lease struct {
	Token     string `json:"client_token"`
	Duration  int64  `json:"lease_duration"`
	TTL       int64  `json:"ttl"`
	Renewable bool   `json:"renewable"`
}

// current returns a token that was good a moment ago.
func (s *session) current(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || s.ends > 0 && s.cfg.Clock.Monotonic() >= s.ends {
		if err := s.begin(ctx); err != nil {
			return "", err
		}
	}
	return s.token, nil
}

// replace returns another token than one that was refused.
func (s *session) replace(ctx context.Context, refused string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == refused {
		if err := s.begin(ctx); err != nil {
			return "", err
		}
	}
	if s.token == refused {
		return "", kms.ErrForbidden
	}
	return s.token, nil
}

// tend renews the token at half of its life, and takes another one if that fails or
// another is in its file.
func (s *session) tend(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.TokenFile != "" && s.token != "" {
		token, err := credential(s.cfg.TokenFile)
		if err != nil {
			return err
		}
		if token != s.file {
			return s.begin(ctx)
		}
	}
	if s.token == "" || s.renew == 0 || s.cfg.Clock.Monotonic() < s.renew {
		return nil
	}
	var answer struct{ Auth lease }
	err := s.client.do(ctx, request{operation: "renew", path: "auth/token/renew-self", token: s.token, body: struct{}{}}, &answer)
	if err == nil {
		s.keep(s.token, answer.Auth.Duration, answer.Auth.Renewable)
		return nil
	}
	if s.cfg.TokenFile != "" || errors.Is(err, kms.ErrUnavailable) {
		return fmt.Errorf("renew the token: %w", err)
	}
	return s.begin(ctx)
}

// begin takes a token from its file, or logs in.
func (s *session) begin(ctx context.Context) error {
	if s.cfg.TokenFile != "" {
		return s.fromFile(ctx)
	}
	role, err := credential(s.cfg.RoleIDFile)
	if err != nil {
		return err
	}
	secret, err := credential(s.cfg.SecretIDFile)
	if err != nil {
		return err
	}
	var answer struct{ Auth lease }
	err = s.client.do(ctx, request{
		operation: "login", path: "auth/" + s.cfg.AuthPath + "/login", body: map[string]string{"role_id": role, "secret_id": secret}, secrets: []string{role, secret},
	}, &answer)
	switch {
	case errors.Is(err, errRefused):
		return fmt.Errorf("log in with the role: %w: %w", kms.ErrForbidden, err)
	case err != nil:
		return fmt.Errorf("log in with the role: %w", err)
	case answer.Auth.Token == "":
		return fmt.Errorf("log in with the role: %w: there is no token in the answer", kms.ErrUnavailable)
	}
	s.keep(answer.Auth.Token, answer.Auth.Duration, answer.Auth.Renewable)
	return nil
}

func (s *session) fromFile(ctx context.Context) error {
	token, err := credential(s.cfg.TokenFile)
	if err != nil {
		return err
	}
	var answer struct{ Data lease }
	err = s.client.do(ctx, request{operation: "lookup", path: "auth/token/lookup-self", token: token}, &answer)
	if err != nil {
		return fmt.Errorf("look up the token of %s: %w", s.cfg.TokenFile, err)
	}
	s.file = token
	s.keep(token, answer.Data.TTL, answer.Data.Renewable)
	return nil
}

// keep remembers a token that lives for so many seconds, or for ever.
func (s *session) keep(token string, seconds int64, renewable bool) {
	s.token, s.renew, s.ends = token, 0, 0
	if seconds <= 0 {
		return
	}
	life, now := time.Duration(seconds)*time.Second, s.cfg.Clock.Monotonic()
	s.ends = now + life
	if renewable || s.cfg.TokenFile == "" {
		s.renew = now + life/2
	}
}

// credential is what is in a file, without the end of its line.
func credential(name string) (string, error) {
	data, err := protected.Read(name, credentialMax)
	if err != nil {
		return "", err
	}
	defer clear(data)
	text := strings.TrimSpace(string(data))
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: it is not one word, as a token or an id is", name)
	}
	return text, nil
}
