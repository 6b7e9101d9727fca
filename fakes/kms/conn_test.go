package kms_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/fakes/kms"
)

const endpoint = "unix:///var/run/kmsplugin/kms-1.sock"

// even is a source of bytes that spread no pause.
type even struct{}

func (even) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 128
	}
	return len(b), nil
}

// machine is one with sockets and a client.
type machine struct {
	t       *testing.T
	timers  *kms.ManualTimers
	sockets *kms.Sockets
	conn    *kms.Conn
	plugin  *kms.Plugin
}

func newMachine(t *testing.T) *machine {
	timers := kms.NewManualTimers()
	m := &machine{t: t, timers: timers, sockets: kms.NewSockets(timers), plugin: kms.NewPlugin(kms.NewVault("kek-1"), nil)}
	conn, err := m.sockets.Dial(endpoint, 3*time.Second, even{})
	if err != nil {
		t.Fatal(err)
	}
	m.conn = conn
	return m
}

func (m *machine) listen() {
	m.t.Helper()
	if err := m.sockets.Listen(endpoint, m.plugin); err != nil {
		m.t.Fatal(err)
	}
}

// status calls the plugin and says what came of it.
func (m *machine) status() string {
	r, took, err := m.conn.Status()
	if err != nil {
		return fmt.Sprintf("%v after %v", err, took)
	}
	return fmt.Sprintf("%s after %v", r.KeyID, took)
}

func (m *machine) says(when, want string) {
	m.t.Helper()
	if diff := cmp.Diff(want, m.status()); diff != "" {
		m.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

const deadline = "rpc error: code = DeadlineExceeded desc = context deadline exceeded after 3s"

func TestACallToAGoodPlugin(t *testing.T) {
	m := newMachine(t)
	m.listen()
	m.says("at once", "kek-1 after 0s")
	m.plugin.Behave(kms.Behaviour{Latency: time.Second, LatencyOf: map[kms.Call]time.Duration{kms.Status: 500 * time.Millisecond}})
	m.says("slowly", "kek-1 after 1.5s")
	m.plugin.Behave(kms.Behaviour{Latency: 3 * time.Second})
	m.says("too slowly", deadline)
	m.plugin.Behave(kms.Outage(errors.New("no HSM")))
	m.says("without its HSM", "rpc error: code = Unknown desc = no HSM after 0s")
	m.conn.Close()
	m.says("after the client has closed", "rpc error: code = Canceled desc = grpc: the client connection is closing after 0s")
}

// TestReconnecting: a client whose plugin has died tries again with pauses that grow to
// two minutes, and does not notice in between that the plugin is back.
func TestReconnecting(t *testing.T) {
	m := newMachine(t)
	m.says("before the plugin has started", deadline)
	m.listen()
	m.says("when it has just started", "kek-1 after 1s")
	m.sockets.Close(endpoint)
	m.listen()
	m.says("restarted between two calls", "kek-1 after 0s")

	m.sockets.Close(endpoint)
	m.says("dead", deadline) // it tries again after 1 s, and 1.6 s after that
	m.timers.Advance(1500 * time.Millisecond)
	m.listen()
	m.timers.Advance(500 * time.Millisecond)
	m.says("back since between two attempts", "kek-1 after 600ms")

	m.sockets.Close(endpoint)
	m.says("dead again", deadline)
	m.timers.Advance(20 * time.Minute)
	m.says("still dead", deadline)
	m.timers.Advance(time.Second)
	m.listen()
	waited := time.Duration(0)
	for m.status() == deadline {
		m.timers.Advance(5 * time.Second)
		waited += 5 * time.Second
	}
	if waited < 10*time.Second || waited > 2*time.Minute {
		t.Errorf("the client noticed after %v that the plugin is back", waited)
	}
}

func TestOneSocketOnePlugin(t *testing.T) {
	m := newMachine(t)
	m.listen()
	if err := m.sockets.Listen(endpoint, m.plugin); !errors.Is(err, kms.ErrAddressInUse) {
		t.Errorf("a second plugin: %v", err)
	}
	if err := m.sockets.Listen("tcp://1.2.3.4:80", m.plugin); err == nil {
		t.Error("a plugin listens on a network")
	}
	m.sockets.CloseAll()
	if m.sockets.Listening(endpoint) {
		t.Error("a plugin outlives its machine")
	}
	m.listen()
}

func TestKeyIDs(t *testing.T) {
	vault := kms.NewVault("kek-1")
	p := kms.NewPlugin(vault, nil)
	id := func() string {
		r, _, err := p.AnswerStatus()
		if err != nil {
			t.Fatal(err)
		}
		return r.KeyID
	}
	ids := []string{id()}
	vault.Rotate("kek-2")
	ids = append(ids, id()) // it has not noticed
	p.Refresh()
	ids = append(ids, id())
	p.Behave(kms.Behaviour{StatusKeyID: kms.FlipFlop("", "kek-1")})
	ids = append(ids, id(), id(), id())
	p.Behave(kms.Behaviour{StatusKeyID: kms.Stale("kek-0")})
	ids = append(ids, id())
	want := []string{"kek-1", "kek-1", "kek-2", "kek-2", "kek-1", "kek-2", "kek-0"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("key ids (-want +got):\n%s", diff)
	}
	if vault.Forget("kek-1"); vault.Opens("kek-1") {
		t.Error("a forgotten key opens")
	}
	if vault.Remember("kek-1"); !vault.Opens("kek-1") {
		t.Error("a key from a backup does not open")
	}
}
