package vault

import (
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Config is what a [Vault] is made of. All fields but Namespace and Mount are required.
type Config struct {
	Clock   clock.PassiveClock
	Entropy io.Reader

	// Namespace is the only one there is; empty is the root.
	Namespace string

	// Mount is the path of the transit engine; empty is "transit".
	Mount string
}

// Vault is one server. Its methods may be called from several goroutines.
type Vault struct {
	cfg Config

	mu       sync.Mutex
	keys     map[string]*key
	tokens   map[string]*token
	roles    map[string]*Role
	sealed   bool
	answer   func(path string) (status int, text string) // in place of what it would answer
	requests map[string]int                              // by path
}

// token is one that was issued.
type token struct {
	expires   time.Time // zero for never
	ttl       time.Duration
	renewable bool
	allowed   map[string]bool // paths; nil for all
}

// Role is one of AppRole.
type Role struct {
	RoleID, SecretID string

	// TTL is that of its tokens; zero for tokens that last for ever.
	TTL time.Duration

	// Batch makes tokens that cannot be renewed.
	Batch bool

	// Allowed are the paths that its tokens may use, below /v1/; nil for all.
	Allowed []string
}

// New returns a vault without keys, tokens or roles.
func New(cfg Config) *Vault {
	if cfg.Mount == "" {
		cfg.Mount = "transit"
	}
	return &Vault{cfg: cfg, keys: map[string]*key{}, tokens: map[string]*token{}, roles: map[string]*Role{}, requests: map[string]int{}}
}

// NewToken issues a token that may use the paths; all, if none are named. A ttl of zero
// is for ever.
func (v *Vault) NewToken(ttl time.Duration, allowed ...string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.issue(ttl, true, allowed)
}

func (v *Vault) issue(ttl time.Duration, renewable bool, allowed []string) string {
	var random [12]byte
	if _, err := io.ReadFull(v.cfg.Entropy, random[:]); err != nil {
		panic(err) // tests hand in what does not end
	}
	name := fmt.Sprintf("hvs.%x", random)
	t := &token{ttl: ttl, renewable: renewable && ttl > 0}
	if ttl > 0 {
		t.expires = v.cfg.Clock.Now().Add(ttl)
	}
	if allowed != nil {
		t.allowed = map[string]bool{}
		for _, path := range allowed {
			t.allowed[path] = true
		}
	}
	v.tokens[name] = t
	return name
}

// Revoke ends a token.
func (v *Vault) Revoke(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.tokens, name)
}

// RevokeAll ends all tokens.
func (v *Vault) RevokeAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.tokens)
}

// PutRole makes a role of AppRole, or changes it.
func (v *Vault) PutRole(r Role) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.roles[r.RoleID] = &r
}

// Seal makes the server unable to do anything until Unseal.
func (v *Vault) Seal() { v.set(func() { v.sealed = true }) }

// Unseal ends what Seal began.
func (v *Vault) Unseal() { v.set(func() { v.sealed = false }) }

// Answer lets f answer in place of the vault where it returns a status other than 0;
// nil ends that.
func (v *Vault) Answer(f func(path string) (status int, text string)) {
	v.set(func() { v.answer = f })
}

func (v *Vault) set(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
}

// Requests is how many requests there were for a path below /v1/.
func (v *Vault) Requests(path string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.requests[path]
}
