package kms

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Call is a call to a plugin.
type Call string

// Calls.
const (
	Status  Call = "Status"
	Encrypt Call = "Encrypt"
	Decrypt Call = "Decrypt"
)

// Behaviour is how a plugin departs from a good one. The zero Behaviour is good.
type Behaviour struct {
	// Latency is how long each call takes.
	Latency time.Duration

	// Down is the error of each call that it has an entry for. A plugin that is
	// down for all of them may as well not run.
	Down map[Call]error

	// Healthz is what Status says; empty for "ok".
	Healthz string

	// Version is what Status says; empty for "v2".
	Version string

	// StatusKeyID is what Status says instead of the id that it should: one that is
	// stale, or another each time.
	StatusKeyID func(id string) string

	// Encrypted changes the answer to Encrypt, Decrypted that to Decrypt.
	Encrypted func(r *service.EncryptResponse)
	Decrypted func(text []byte) []byte
}

// Plugin is one process of a KMS v2 plugin. Its methods may be called from several
// tasks.
type Plugin struct {
	vault *Vault
	clock clock.Clock

	mu        sync.Mutex
	behaviour Behaviour
	keyID     string // that it knows of
	calls     map[Call]int
}

// NewPlugin returns a good plugin. Its clock is that of the process that it is in, or
// that calls it.
func NewPlugin(vault *Vault, c clock.Clock) *Plugin {
	p := &Plugin{vault: vault, clock: c, calls: map[Call]int{}}
	p.Refresh()
	return p
}

// Behave changes how the plugin behaves from now on.
func (p *Plugin) Behave(b Behaviour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behaviour = b
}

// Refresh lets the plugin see which version of the key seals now. Until then it goes
// on with the one that it knew.
func (p *Plugin) Refresh() {
	current := p.vault.Current()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keyID = current
}

// Calls returns how often the plugin was called.
func (p *Plugin) Calls(c Call) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[c]
}

// begin counts a call and lets it take its time.
func (p *Plugin) begin(ctx context.Context, c Call) (Behaviour, string, error) {
	p.mu.Lock()
	p.calls[c]++
	b, keyID := p.behaviour, p.keyID
	p.mu.Unlock()
	if b.Latency > 0 {
		if err := p.clock.Sleep(ctx, b.Latency); err != nil {
			return b, keyID, fmt.Errorf("kms plugin: %w", err)
		}
	}
	if err := b.Down[c]; err != nil {
		return b, keyID, err
	}
	return b, keyID, nil
}

// Status implements service.Service.
func (p *Plugin) Status(ctx context.Context) (*service.StatusResponse, error) {
	b, keyID, err := p.begin(ctx, Status)
	if err != nil {
		return nil, err
	}
	r := &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: keyID}
	if b.Version != "" {
		r.Version = b.Version
	}
	if b.Healthz != "" {
		r.Healthz = b.Healthz
	}
	if b.StatusKeyID != nil {
		r.KeyID = b.StatusKeyID(keyID)
	}
	return r, nil
}

// Encrypt implements service.Service.
func (p *Plugin) Encrypt(ctx context.Context, _ string, data []byte) (*service.EncryptResponse, error) {
	b, keyID, err := p.begin(ctx, Encrypt)
	if err != nil {
		return nil, err
	}
	sealed, err := p.vault.seal(keyID, data)
	if err != nil {
		return nil, fmt.Errorf("kms plugin: encrypt: %w", err)
	}
	r := &service.EncryptResponse{Ciphertext: sealed, KeyID: keyID, Annotations: map[string][]byte{"version.kms.example.com": []byte("1")}}
	if b.Encrypted != nil {
		b.Encrypted(r)
	}
	return r, nil
}

var errNoAnnotation = errors.New("kms plugin: decrypt: the annotation version.kms.example.com is missing")

// Decrypt implements service.Service. It wants the annotations back that Encrypt gave.
func (p *Plugin) Decrypt(ctx context.Context, _ string, req *service.DecryptRequest) ([]byte, error) {
	b, _, err := p.begin(ctx, Decrypt)
	if err != nil {
		return nil, err
	}
	if string(req.Annotations["version.kms.example.com"]) != "1" {
		return nil, errNoAnnotation
	}
	text, err := p.vault.open(req.KeyID, req.Ciphertext)
	if err != nil {
		return nil, fmt.Errorf("kms plugin: decrypt: %w", err)
	}
	if b.Decrypted != nil {
		text = b.Decrypted(text)
	}
	return text, nil
}
