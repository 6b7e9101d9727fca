package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/kms"
)

// timeout is that of the calls here, which run in real time.
const timeout = 300 * time.Millisecond

// side is one way to reach a plugin.
type side interface {
	status() string
	encrypt(text string) (string, *service.EncryptResponse)
	decrypt(r *service.EncryptResponse) string
	listen()
	hangUp()
}

// overGRPC is the client of k8s.io/apiserver and the server of k8s.io/kms, on a socket.
type overGRPC struct {
	t        *testing.T
	endpoint string
	plugin   *kms.Plugin
	client   service.Service
	server   *service.GRPCService
	done     chan error
}

func (g *overGRPC) listen() {
	g.server = service.NewGRPCService(strings.TrimPrefix(g.endpoint, "unix://"), timeout*10, g.plugin)
	g.done = make(chan error, 1)
	go func(s *service.GRPCService) { g.done <- s.ListenAndServe() }(g.server)
	time.Sleep(50 * time.Millisecond)
}

func (g *overGRPC) hangUp() {
	g.server.Close()
	if err := <-g.done; err != nil {
		g.t.Logf("the server has ended: %v", err)
	}
	time.Sleep(50 * time.Millisecond)
}

func (g *overGRPC) status() string {
	return said(g.client.Status(context.Background()))
}

func (g *overGRPC) encrypt(text string) (string, *service.EncryptResponse) {
	r, err := g.client.Encrypt(context.Background(), "uid", []byte(text))
	return short(err), r
}

func (g *overGRPC) decrypt(r *service.EncryptResponse) string {
	text, err := g.client.Decrypt(context.Background(), "uid", request(r))
	return string(text) + short(err)
}

// inModel is the model's channel and sockets.
type inModel struct {
	timers   *kms.ManualTimers
	sockets  *kms.Sockets
	endpoint string
	plugin   *kms.Plugin
	conn     *kms.Conn
}

// passes lets a call take its time.
func (m *inModel) passes(took time.Duration) { m.timers.Advance(took) }

func (m *inModel) listen() {
	if err := m.sockets.Listen(m.endpoint, m.plugin); err != nil {
		panic(err)
	}
	m.timers.Advance(50 * time.Millisecond)
}

func (m *inModel) hangUp() {
	m.sockets.Close(m.endpoint)
	m.timers.Advance(50 * time.Millisecond)
}

func (m *inModel) status() string {
	r, took, err := m.conn.Status()
	m.passes(took)
	return said(r, err)
}

func (m *inModel) encrypt(text string) (string, *service.EncryptResponse) {
	r, took, err := m.conn.Encrypt("uid", []byte(text))
	m.passes(took)
	return short(err), r
}

func (m *inModel) decrypt(r *service.EncryptResponse) string {
	text, took, err := m.conn.Decrypt("uid", request(r))
	m.passes(took)
	return string(text) + short(err)
}

func request(r *service.EncryptResponse) *service.DecryptRequest {
	return &service.DecryptRequest{Ciphertext: r.Ciphertext, KeyID: r.KeyID, Annotations: r.Annotations}
}

func said(r *service.StatusResponse, err error) string {
	if err != nil {
		return short(err)
	}
	return fmt.Sprintf("%s %s %s", r.Version, r.Healthz, r.KeyID)
}

// short is an error without the many ways in which gRPC tells what it was waiting for.
func short(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if strings.HasPrefix(text, "rpc error: code = DeadlineExceeded") {
		return "too late"
	}
	return text
}

// sleeper is the part of a clock that a plugin needs.
type sleeper struct{ clock.Clock }

func (sleeper) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// play is what is done to the plugin and its client, on either side.
func play(s side, p *kms.Plugin) (out []string) {
	say := func(what, text string) { out = append(out, what+": "+text) }
	say("nobody listens", s.status())
	s.listen()
	for range 20 { // until it is noticed
		if s.status() != "too late" {
			break
		}
	}
	say("good", s.status())
	text, sealed := s.encrypt("seed")
	say("encrypt", fmt.Sprintf("%s%s %q %v", text, sealed.KeyID, sealed.Annotations, len(sealed.Ciphertext)))
	say("decrypt", s.decrypt(sealed))
	p.Behave(kms.Behaviour{Latency: timeout / 3})
	say("slow", s.status())
	p.Behave(kms.Behaviour{Latency: timeout * 3})
	say("too slow", s.status())
	p.Behave(kms.Outage(errors.New("no HSM")))
	text, _ = s.encrypt("seed")
	say("down", s.status()+" / "+text+" / "+s.decrypt(sealed))
	p.Behave(kms.Behaviour{Healthz: "ill", Version: "v9", StatusKeyID: kms.Stale("")})
	say("odd answers", s.status())
	p.Behave(kms.Behaviour{})
	say("another ciphertext", s.decrypt(&service.EncryptResponse{KeyID: sealed.KeyID, Ciphertext: []byte("short"), Annotations: sealed.Annotations}))
	say("another key", s.decrypt(&service.EncryptResponse{KeyID: "kek-0", Ciphertext: sealed.Ciphertext, Annotations: sealed.Annotations}))
	say("no annotations", s.decrypt(&service.EncryptResponse{KeyID: sealed.KeyID, Ciphertext: sealed.Ciphertext}))
	for _, a := range kms.Answers() {
		p.Behave(a.Behaviour)
		text, r := s.encrypt("seed")
		if r != nil {
			text += fmt.Sprint(len(r.KeyID), len(r.Ciphertext), len(r.Annotations))
		}
		say(a.Name, s.status()+" / "+text)
	}
	p.Behave(kms.Behaviour{})
	s.hangUp()
	say("dead", s.status())
	s.listen()
	for range 20 {
		if s.status() != "too late" {
			break
		}
	}
	say("back", s.status())
	s.hangUp()
	s.listen()
	say("restarted between two calls", s.status())
	return out
}

// TestOverGRPC plays the same with a plugin in the model and behind a real socket.
func TestOverGRPC(t *testing.T) {
	endpoint := "unix://" + filepath.Join(t.TempDir(), "kms.sock")
	timers := kms.NewManualTimers()
	m := &inModel{timers: timers, sockets: kms.NewSockets(timers), endpoint: endpoint, plugin: kms.NewPlugin(kms.NewVault("kek-1"), nil)}
	conn, err := m.sockets.Dial(endpoint, timeout, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	m.conn = conn

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g := &overGRPC{t: t, endpoint: endpoint, plugin: kms.NewPlugin(kms.NewVault("kek-1"), sleeper{})}
	if g.client, err = kmsv2.NewGRPCService(ctx, endpoint, "1_secrets", timeout); err != nil {
		t.Fatal(err)
	}
	defer func() { g.server.Close() }()
	equal(t, "what was said", play(m, m.plugin), play(g, g.plugin))
}
