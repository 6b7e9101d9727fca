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

// Answerer answers calls of KMS v2 at once, and says how long each answer takes. An
// answer that takes longer than the caller waits never reaches it.
type Answerer interface {
	AnswerStatus() (*service.StatusResponse, time.Duration, error)
	AnswerEncrypt(uid string, data []byte) (*service.EncryptResponse, time.Duration, error)
	AnswerDecrypt(uid string, req *service.DecryptRequest) ([]byte, time.Duration, error)
}

var (
	_ service.Service = (*Plugin)(nil)
	_ Answerer        = (*Plugin)(nil)
)

// NewPlugin returns a good plugin. Its clock is that of the process that it is in, or
// that calls it; it may be nil if nobody uses the plugin as a service.Service.
func NewPlugin(vault *Vault, c clock.Clock) *Plugin {
	p := &Plugin{vault: vault, clock: c, calls: map[Call]int{}}
	p.Refresh()
	return p
}

// Behaviour is how the plugin behaves now.
func (p *Plugin) Behaviour() Behaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.behaviour
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

// KeyID is the version of the key that the plugin seals with.
func (p *Plugin) KeyID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keyID
}

// Calls returns how often the plugin was called.
func (p *Plugin) Calls(c Call) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[c]
}

// begin counts a call. It returns how the plugin behaves and which key it knows of.
func (p *Plugin) begin(c Call) (b Behaviour, keyID string, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[c]++
	return p.behaviour, p.keyID, p.behaviour.Latency + p.behaviour.LatencyOf[c]
}

// wait lets a call take its time.
func (p *Plugin) wait(ctx context.Context, took time.Duration) error {
	if took <= 0 {
		return nil
	}
	if err := p.clock.Sleep(ctx, took); err != nil {
		return fmt.Errorf("kms plugin: %w", err)
	}
	return nil
}

// Status implements service.Service.
func (p *Plugin) Status(ctx context.Context) (*service.StatusResponse, error) {
	b, keyID, took := p.begin(Status)
	if err := p.wait(ctx, took); err != nil {
		return nil, err
	}
	return status(b, keyID)
}

// AnswerStatus implements [Answerer].
func (p *Plugin) AnswerStatus() (*service.StatusResponse, time.Duration, error) {
	b, keyID, took := p.begin(Status)
	r, err := status(b, keyID)
	return r, took, err
}

func status(b Behaviour, keyID string) (*service.StatusResponse, error) {
	if err := b.Down[Status]; err != nil {
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
	b, keyID, took := p.begin(Encrypt)
	if err := p.wait(ctx, took); err != nil {
		return nil, err
	}
	return p.encrypt(b, keyID, data)
}

// AnswerEncrypt implements [Answerer].
func (p *Plugin) AnswerEncrypt(_ string, data []byte) (*service.EncryptResponse, time.Duration, error) {
	b, keyID, took := p.begin(Encrypt)
	r, err := p.encrypt(b, keyID, data)
	return r, took, err
}

func (p *Plugin) encrypt(b Behaviour, keyID string, data []byte) (*service.EncryptResponse, error) {
	if err := b.Down[Encrypt]; err != nil {
		return nil, err
	}
	sealed, err := p.vault.seal(keyID, data)
	if err != nil {
		return nil, fmt.Errorf("kms plugin: encrypt: %w", err)
	}
	if len(sealed) > CiphertextMax {
		return nil, errTooLarge // a plugin knows what API servers take
	}
	r := &service.EncryptResponse{Ciphertext: sealed, KeyID: keyID, Annotations: map[string][]byte{annotation: []byte("1")}}
	if b.Encrypted != nil {
		b.Encrypted(r)
	}
	return r, nil
}

var errTooLarge = errors.New("kms plugin: encrypt: the text is too large")

// annotation is what Decrypt wants back of what Encrypt gave.
const annotation = "version.kms.example.com"

var errNoAnnotation = errors.New("kms plugin: decrypt: the annotation " + annotation + " is missing")

// Decrypt implements service.Service. It wants the annotations back that Encrypt gave.
func (p *Plugin) Decrypt(ctx context.Context, _ string, req *service.DecryptRequest) ([]byte, error) {
	b, _, took := p.begin(Decrypt)
	if err := p.wait(ctx, took); err != nil {
		return nil, err
	}
	return p.decrypt(b, req)
}

// AnswerDecrypt implements [Answerer].
func (p *Plugin) AnswerDecrypt(_ string, req *service.DecryptRequest) ([]byte, time.Duration, error) {
	b, _, took := p.begin(Decrypt)
	text, err := p.decrypt(b, req)
	return text, took, err
}

func (p *Plugin) decrypt(b Behaviour, req *service.DecryptRequest) ([]byte, error) {
	if err := b.Down[Decrypt]; err != nil {
		return nil, err
	}
	if string(req.Annotations[annotation]) != "1" {
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
