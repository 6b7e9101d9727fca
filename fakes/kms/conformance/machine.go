package conformance

import (
	"testing"
	"time"

	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Machine is one with a plugin, which is up and has a key of its own.
type Machine interface {
	// Plugin is the plugin as its clients reach it, also after it was down.
	Plugin() service.Service

	// Clock bounds the calls.
	Clock() clock.Clock

	// Rotate gives the key a new version, and returns when the plugin has noticed.
	Rotate()

	// Kill ends the plugin without a word, and Start starts it anew.
	Kill()
	Start()

	// Replica returns another machine with the same key, now and after rotations: it
	// has noticed all that there were.
	Replica() Machine
}

// world is a machine in a test.
type world struct {
	*testing.T
	Machine
}

// sealed is a text and what a plugin made of it.
type sealed struct {
	text string
	*service.EncryptResponse
}

func (w *world) status() *service.StatusResponse {
	w.Helper()
	s, err := w.Plugin().Status(w.Context())
	if err != nil {
		w.Fatalf("status: %v", err)
	}
	return s
}

// deadWait is how long a dead plugin is waited for, which clients do.
const deadWait = 300 * time.Millisecond

// dead wants no answer.
func (w *world) dead() {
	w.Helper()
	ctx, cancel := w.Clock().WithTimeout(w.Context(), deadWait)
	defer cancel()
	if s, err := w.Plugin().Status(ctx); err == nil {
		w.Errorf("a dead plugin answers: %+v", s)
	}
}

func (w *world) encrypt(text string) sealed {
	w.Helper()
	r, err := w.Plugin().Encrypt(w.Context(), "uid", []byte(text))
	if err != nil {
		w.Fatalf("encrypt: %v", err)
	}
	return sealed{text, r}
}

func (s sealed) request() *service.DecryptRequest {
	return &service.DecryptRequest{Ciphertext: s.Ciphertext, KeyID: s.KeyID, Annotations: s.Annotations}
}

// opens wants the text back.
func (w *world) opens(when string, s sealed) {
	w.Helper()
	text, err := w.Plugin().Decrypt(w.Context(), "uid", s.request())
	if err != nil || string(text) != s.text {
		w.Errorf("%s, what %s has sealed opens as %q, error %v, want %q", when, s.KeyID, text, err, s.text)
	}
}

// refuses wants an error, and the plugin to live on.
func (w *world) refuses(what string, r *service.DecryptRequest) {
	w.Helper()
	if text, err := w.Plugin().Decrypt(w.Context(), "uid", r); err == nil {
		w.Errorf("%s is opened as %q", what, text)
	}
	if s := w.status(); s.Healthz != "ok" {
		w.Errorf("after %s it says that it is not well: %s", what, s.Healthz)
	}
}
