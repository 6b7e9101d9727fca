package kms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/kms/pkg/service"

	coreclock "github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/kmscheck"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/kms"
)

// scripted is a provider that does what a test says.
type scripted struct {
	mu         sync.Mutex
	id         string
	look       error
	seal, open error
	sealed     func(text []byte) []byte
	hang       chan struct{} // Seal waits until it is closed, or its context ends
	entered    chan struct{} // receives when Seal waits
}

func (p *scripted) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *scripted) Look(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id, p.look
}

func (p *scripted) Seal(ctx context.Context, keyID string, text []byte) ([]byte, error) {
	p.mu.Lock()
	err, hang, sealed := p.seal, p.hang, p.sealed
	p.mu.Unlock()
	if hang != nil {
		p.entered <- struct{}{}
		select {
		case <-hang:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if sealed != nil {
		return sealed(text), err
	}
	return flip(keyID, text), err
}

func (p *scripted) Open(_ context.Context, keyID string, ciphertext []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !bytes.HasPrefix(ciphertext, []byte(keyID)) {
		return nil, kms.ErrBroken
	}
	return flip("", ciphertext[len(keyID):]), p.open
}

// flip stands for sealing and opening.
func flip(prefix string, text []byte) []byte {
	out := []byte(prefix)
	for _, b := range text {
		out = append(out, b^0xff)
	}
	return out
}

func newScripted(t *testing.T) (*machine, *scripted) {
	p := &scripted{id: "v1", entered: make(chan struct{}, 1)}
	return newMachine(t, func() kms.Provider { return p }, nil), p
}

// said is the status after the server has looked again.
func (m *machine) said(want string) {
	m.Helper()
	got := ""
	m.eventually(fmt.Sprintf("it says %q", want), func() bool {
		m.server.Look()
		s, err := m.client.Status(m.Context())
		if err != nil {
			m.Fatal(err)
		}
		got = s.KeyID + " " + s.Healthz
		return strings.Contains(got, want)
	})
}

// TestAVersionIsTriedBeforeItIsTaken: one that does not work is not, and the one before
// goes on.
func TestAVersionIsTriedBeforeItIsTaken(t *testing.T) {
	m, p := newScripted(t)
	m.said("v1 ok")
	p.set(func() { p.id, p.open = "v2", errors.New("forbidden") })
	m.said("v1 try to open with v2: forbidden")
	p.set(func() { p.open, p.seal = nil, errors.New("no more") })
	m.said("v1 try to seal with v2: no more")
	p.set(func() { p.seal, p.sealed = nil, func(text []byte) []byte { return append([]byte("v2"), text...) } })
	m.said("v1 try v2: the ciphertext was not made with")
	p.set(func() { p.sealed = func([]byte) []byte { return make([]byte, kms.CiphertextMax+1) } })
	m.said("v1 try to seal with v2: the ciphertext has 1025 bytes")
	p.set(func() { p.sealed = nil })
	m.said("v2 ok")
}

// TestNeverBack: a version that was replaced does not seal again.
func TestNeverBack(t *testing.T) {
	m, p := newScripted(t)
	p.set(func() { p.id = "v2" })
	m.said("v2 ok")
	p.set(func() { p.id = "v1" })
	m.said("v2 the key has gone back to a version that was replaced")
	if r, err := m.client.Encrypt(t.Context(), "uid", []byte("text")); err != nil || r.KeyID != "v2" {
		t.Errorf("sealed with %+v, error %v", r, err)
	}
	p.set(func() { p.id = "v3" })
	m.said("v3 ok")
}

// TestWhatLooksWrong is said, and what there is goes on.
func TestWhatLooksWrong(t *testing.T) {
	m, p := newScripted(t)
	p.set(func() { p.look = errors.New("no route") })
	m.said("v1 look which version of the key seals: no route")
	p.set(func() { p.seal = errors.New("no power") })
	m.said("v1 look which version of the key seals: no route; try to seal with v1: no power")
	p.set(func() { p.look, p.seal, p.id = nil, nil, "" })
	m.said("v1 look which version of the key seals: the key id has 0 bytes")
	p.set(func() { p.id = strings.Repeat("k", kms.KeyIDMax+1) })
	m.said("v1 look which version of the key seals: the key id has 1025 bytes")
	p.set(func() { p.id = strings.Repeat("k", kms.KeyIDMax) })
	// With an id of that length the stand-in's ciphertext is too long.
	m.said("bytes, and 1 to 1024 are allowed")
	p.set(func() { p.id = "v1" })
	m.said("v1 ok")
}

// later is a clock that can be ahead of the real one.
type later struct {
	coreclock.Clock
	by atomic.Int64
}

func (c *later) Monotonic() time.Duration { return c.Clock.Monotonic() + time.Duration(c.by.Load()) }

// TestAKeyThatWasNotTriedForLong is not said to be well.
func TestAKeyThatWasNotTriedForLong(t *testing.T) {
	m, _ := newScripted(t)
	m.Stop()
	c := &later{Clock: clock.New()}
	cfg := m.config()
	cfg.Clock = c
	server, err := kms.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.run(server)
	for by, want := range map[time.Duration]string{3 * time.Hour: "ok", 4 * time.Hour: "the key was not tried for too long: the last time was 4h0m"} {
		c.by.Store(int64(by))
		if s, err := m.client.Status(t.Context()); err != nil || !strings.HasPrefix(s.Healthz, want) {
			t.Errorf("after %v: %+v, %v, want %q", by, s, err, want)
		}
	}
}

// TestLimits: they are those of API servers, and what is over them reaches no provider.
func TestLimits(t *testing.T) {
	if kms.KeyIDMax != kmscheck.KeyIDMax || kms.CiphertextMax != kmscheck.CiphertextMax || kms.AnnotationsMax != kmscheck.AnnotationsMax {
		t.Error("the limits are not those that plugins are checked for")
	}
	m, p := newScripted(t)
	p.set(func() { p.seal, p.open = errors.New("reached"), errors.New("reached") })
	annotated := func(name string, size int) map[string][]byte { return map[string][]byte{name: make([]byte, size)} }
	const domain = "a.kms.example.com"
	for _, c := range []struct {
		name string
		call func() error
		want string
	}{
		{"no text", func() error { return m.seals(0, "uid") }, "1 to 512 are allowed"},
		{"a long text", func() error { return m.seals(kms.PlaintextMax+1, "uid") }, "the plaintext has 513 bytes"},
		{"the longest text", func() error { return m.seals(kms.PlaintextMax, "uid") }, "reached"},
		{"a long uid", func() error { return m.seals(1, strings.Repeat("u", kms.UIDMax+1)) }, "the uid has 1025 bytes"},
		{"no key id", func() error { return m.opens(service.DecryptRequest{Ciphertext: []byte("v1x")}) }, "the key id has 0 bytes"},
		{"no ciphertext", func() error { return m.opens(service.DecryptRequest{KeyID: "v1"}) }, "the ciphertext has 0 bytes"},
		{"the longest ciphertext", func() error {
			return m.opens(service.DecryptRequest{KeyID: "v1", Ciphertext: []byte("v1" + strings.Repeat("x", kms.CiphertextMax-2))})
		}, "reached"},
		{"a longer one", func() error {
			return m.opens(service.DecryptRequest{KeyID: "v1", Ciphertext: make([]byte, kms.CiphertextMax+1)})
		}, "the ciphertext has 1025 bytes"},
		{"an annotation", func() error {
			return m.opens(service.DecryptRequest{KeyID: "v1", Ciphertext: []byte("v1x"), Annotations: annotated("version", 1)})
		}, "a name that is no domain name"},
		{"the largest annotations", func() error {
			return m.opens(service.DecryptRequest{KeyID: "v1", Ciphertext: []byte("v1x"), Annotations: annotated(domain, kms.AnnotationsMax-len(domain))})
		}, "reached"},
		{"larger ones", func() error {
			return m.opens(service.DecryptRequest{KeyID: "v1", Ciphertext: []byte("v1x"), Annotations: annotated(domain, kms.AnnotationsMax)})
		}, "the annotations have 32785 bytes"},
		{"a flood", func() error {
			return m.opens(service.DecryptRequest{KeyID: "v1", Ciphertext: make([]byte, 1<<20)})
		}, "received message larger than max"},
	} {
		if err := c.call(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func (m *machine) seals(size int, uid string) error {
	_, err := m.client.Encrypt(m.Context(), uid, make([]byte, size))
	return err
}

func (m *machine) opens(r service.DecryptRequest) error {
	_, err := m.client.Decrypt(m.Context(), "uid", &r)
	return err
}

// TestCodes: a client sees what kind of failure it was.
func TestCodes(t *testing.T) {
	m, p := newScripted(t)
	for _, c := range []struct {
		err  error
		want codes.Code
	}{
		{kms.ErrUnknownKey, codes.NotFound}, {kms.ErrBroken, codes.InvalidArgument}, {kms.ErrForbidden, codes.PermissionDenied},
		{kms.ErrUnavailable, codes.Unavailable}, {errors.New("something"), codes.Unknown}, {context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		p.set(func() { p.seal = fmt.Errorf("wrapped: %w", c.err) })
		if err := m.seals(1, "uid"); status.Code(err) != c.want || !strings.Contains(err.Error(), c.err.Error()) {
			t.Errorf("%v became %v, want code %v", c.err, err, c.want)
		}
	}
}

// TestCallsEndInTime and those that are under way when the server is told to end are
// answered.
func TestCallsEndInTime(t *testing.T) {
	m, p := newScripted(t)
	release := make(chan struct{})
	p.set(func() { p.hang = release })
	answered := make(chan error, 1)
	go func() { answered <- m.seals(1, "uid") }()
	<-p.entered
	m.end()
	m.eventually("it takes no more connections", func() bool { _, err := m.Lstat(); return err != nil })
	select {
	case err := <-m.ended:
		t.Fatalf("the server ended before its call: %v", err)
	default:
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
	if err := <-m.ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	m.server = nil

	p.set(func() { p.hang = nil })
	m.Start()
	p.set(func() { p.hang = make(chan struct{}) })
	go func() { answered <- m.seals(1, "uid") }()
	<-p.entered
	if err := <-answered; status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a provider that hangs: %v", err)
	}
	p.set(func() { p.hang = nil })
}

// TestACallThatNeverEnds is cut off.
func TestACallThatNeverEnds(t *testing.T) {
	m, p := newScripted(t)
	m.Stop()
	cfg := m.config()
	cfg.DrainTimeout, cfg.CallTimeout = 50*time.Millisecond, time.Hour
	server, err := kms.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.run(server)
	p.set(func() { p.hang = make(chan struct{}) })
	answered := make(chan error, 1)
	go func() { answered <- m.seals(1, "uid") }()
	<-p.entered
	m.Stop()
	if err := <-answered; err == nil {
		t.Error("the call was answered")
	}
}
