package grant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/seedbed-sim/seedbed/core/clock"
)

const (
	// DefaultMaxStale is how old keys may be.
	DefaultMaxStale = time.Hour

	// missInterval is how often, at most, the issuer is asked because a key is not
	// known.
	missInterval = time.Minute

	keysTimeout = 5 * time.Second
	keysLimit   = 1 << 20
)

// CacheConfig is what a Cache is made of. Issuer, Web and Clock are required.
type CacheConfig struct {
	// Issuer is the URL below which the discovery document is.
	Issuer string

	// Roots returns PEM certificates; see [Request]. It is asked before each request,
	// since somebody may replace them. Nil means the roots of the system.
	Roots func(context.Context) ([]byte, error)

	// MaxStale is how old keys may be before nothing can be verified with them. It
	// should be the lease of grants. Zero means DefaultMaxStale.
	MaxStale time.Duration

	Web   Web
	Clock clock.Clock
}

// Cache holds the keys of an issuer. Use it as one that holds none yet after NewCache.
// It may be used from several tasks.
type Cache struct {
	cfg CacheConfig

	mu     sync.Mutex
	keys   map[string]jose.JSONWebKey
	read   time.Duration // when, on the monotonic clock
	missed time.Duration // when the issuer was last asked for a key not known
	asked  bool          // whether it was
}

// NewCache returns a cache without keys.
func NewCache(cfg CacheConfig) *Cache {
	if cfg.MaxStale == 0 {
		cfg.MaxStale = DefaultMaxStale
	}
	cfg.Issuer = strings.TrimRight(cfg.Issuer, "/")
	return &Cache{cfg: cfg}
}

// Refresh reads the keys of the issuer. If it fails the cache keeps those it has.
func (c *Cache) Refresh(ctx context.Context) error {
	ctx, cancel := c.cfg.Clock.WithTimeout(ctx, keysTimeout)
	defer cancel()
	var discovery struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := c.get(ctx, c.cfg.Issuer+"/.well-known/openid-configuration", &discovery); err != nil {
		return fmt.Errorf("read the discovery document of the issuer: %w", err)
	}
	switch {
	case strings.TrimRight(discovery.Issuer, "/") != c.cfg.Issuer:
		return errors.New("read the discovery document of the issuer: it is that of another issuer")
	case !strings.HasPrefix(discovery.Keys, "https://"):
		return errors.New("read the discovery document of the issuer: its jwks_uri is no https URL")
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := c.get(ctx, discovery.Keys, &set); err != nil {
		return fmt.Errorf("read the keys of the issuer: %w", err)
	}
	keys := usable(set.Keys)
	if len(keys) == 0 {
		return errors.New("read the keys of the issuer: there is none that a grant could be signed with")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys, c.read = keys, c.cfg.Clock.Monotonic()
	return nil
}

// usable returns the valid public keys, by id. One that nobody understands does not
// spoil the others.
func usable(set []json.RawMessage) map[string]jose.JSONWebKey {
	keys := map[string]jose.JSONWebKey{}
	for _, raw := range set {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && key.Valid() && key.IsPublic() && key.KeyID != "" {
			keys[key.KeyID] = key
		}
	}
	return keys
}

// get reads a JSON document.
func (c *Cache) get(ctx context.Context, url string, into any) error {
	req := Request{URL: url, Limit: keysLimit + 1}
	if c.cfg.Roots != nil {
		var err error
		if req.Roots, err = c.cfg.Roots(ctx); err != nil {
			return fmt.Errorf("read the certificates that the issuer's must chain to: %w", err)
		}
	}
	resp, err := c.cfg.Web.Get(ctx, req)
	switch {
	case err != nil:
		return err
	case resp.Status != 200:
		return fmt.Errorf("the issuer answered with status %d", resp.Status)
	case len(resp.Body) > keysLimit:
		return fmt.Errorf("the answer is larger than %d bytes", keysLimit)
	}
	if err := json.Unmarshal(resp.Body, into); err != nil {
		return fmt.Errorf("the answer is not the JSON that it should be: %w", err)
	}
	return nil
}

// key returns the key with an id.
func (c *Cache) key(ctx context.Context, id string) (jose.JSONWebKey, error) {
	key, ok := c.lookup(id)
	if !ok && c.mayAsk() {
		if err := c.Refresh(ctx); err != nil && ctx.Err() != nil {
			return jose.JSONWebKey{}, fmt.Errorf("%w: %w", ErrUnverifiable, ctx.Err())
		}
		key, ok = c.lookup(id)
	}
	switch {
	case c.stale():
		return jose.JSONWebKey{}, fmt.Errorf("%w: the keys of the issuer have not been read for too long", ErrUnverifiable)
	case !ok:
		return jose.JSONWebKey{}, fmt.Errorf("%w: the issuer has no such key", ErrForged)
	}
	return key, nil
}

func (c *Cache) lookup(id string) (jose.JSONWebKey, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, ok := c.keys[id]
	return key, ok
}

// mayAsk reports whether the issuer may be asked for a key now, and counts it as asked.
func (c *Cache) mayAsk() bool {
	now := c.cfg.Clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked && now-c.missed < missInterval {
		return false
	}
	c.asked, c.missed = true, now
	return true
}

// stale reports whether the keys are too old to verify anything, or there are none.
func (c *Cache) stale() bool {
	now := c.cfg.Clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.keys) == 0 || now-c.read > c.cfg.MaxStale
}
