package kms_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	"k8s.io/kms/pkg/service"

	coreclock "github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/kms/conformance"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/localkey"
)

// processDir is a directory for what lasts as long as the process of the tests.
var processDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seedbed-kms")
	if err != nil {
		panic(err)
	}
	processDir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// machine is one with a server on a real socket, whose client is the API servers' own.
type machine struct {
	*testing.T
	path     string
	provider func() kms.Provider // that of a new process
	rotate   func()

	server   *kms.Server
	registry *prometheus.Registry
	client   service.Service
	end      context.CancelFunc // of the process
	ended    chan error
}

// newMachine starts a server whose key is with a provider.
func newMachine(t *testing.T, provider func() kms.Provider, rotate func()) *machine {
	t.Helper()
	m := &machine{T: t, path: filepath.Join(t.TempDir(), "kms.sock"), provider: provider, rotate: rotate}
	m.Start()
	var err error
	// A client per machine is what an API server has: it lives through all restarts.
	if m.client, err = kmsv2.NewGRPCService(t.Context(), "unix://"+m.path, "test", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	return m
}

// changer changes key files.
var changer = &localkey.Changer{Now: time.Now, Entropy: rand.Reader}

// newLocal is a machine whose key is in a file.
func newLocal(t *testing.T) (m *machine, keyFile string) {
	t.Helper()
	keyFile = filepath.Join(t.TempDir(), "key.json")
	if _, err := changer.Init(keyFile); err != nil {
		t.Fatal(err)
	}
	m = newMachine(t, func() kms.Provider { return localkey.New(keyFile) }, func() {
		if _, err := changer.Rotate(keyFile, false); err != nil {
			t.Fatal(err)
		}
	})
	return m, keyFile
}

func (m *machine) config() kms.Config {
	m.registry = prometheus.NewRegistry()
	return kms.Config{
		Path: m.path, Provider: m.provider(), Clock: clock.New(), Log: logr.Discard(), Registerer: m.registry,
		ProbeInterval: time.Hour, // tests say when
	}
}

func (m *machine) Plugin() service.Service { return m.client }
func (m *machine) Clock() coreclock.Clock  { return clock.New() }

func (m *machine) Start() {
	m.Helper()
	server, err := kms.Start(m.Context(), m.config())
	if err != nil {
		m.Fatal(err)
	}
	m.run(server)
}

// run runs a server as a process would.
func (m *machine) run(server *kms.Server) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.Context()))
	m.server, m.end, m.ended = server, cancel, make(chan error, 1)
	go func(ended chan<- error) { ended <- server.Run(ctx) }(m.ended)
}

// Stop ends the server and waits.
func (m *machine) Stop() {
	m.Helper()
	if m.server == nil {
		return
	}
	m.end()
	if err := <-m.ended; err != nil {
		m.Errorf("the server ended with %v", err)
	}
	m.server = nil
}

func (m *machine) Kill() { m.Stop() } // cmd/seedbed-kms is killed for real

func (m *machine) Rotate() {
	m.Helper()
	m.rotate()
	if m.server == nil {
		return
	}
	before := m.server.KeyID()
	m.server.Look()
	m.eventually("the rotation is noticed", func() bool { return m.server.KeyID() != before })
}

func (m *machine) Replica() conformance.Machine { return newMachine(m.T, m.provider, m.rotate) }

// eventually waits until something is so.
func (m *machine) eventually(what string, is func() bool) {
	m.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			m.Fatalf("it has not come to this: %s", what)
		}
	}
}

// TestConformanceOfLocalKeys runs the suite over a real socket.
func TestConformanceOfLocalKeys(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Machine {
		m, _ := newLocal(t)
		return m
	})
}

// TestRotatingUnderLoad: no call fails, and no client sees the key go back.
func TestRotatingUnderLoad(t *testing.T) {
	m, _ := newLocal(t)
	order := map[string]int{m.server.KeyID(): 0}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	paths := make([][]string, 8)
	for i := range paths {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := m.client.Encrypt(t.Context(), "uid", []byte("a text"))
				if err != nil {
					t.Errorf("encrypt: %v", err)
					return
				}
				paths[i] = append(paths[i], r.KeyID)
				if text, err := m.client.Decrypt(t.Context(), "uid", &service.DecryptRequest{Ciphertext: r.Ciphertext, KeyID: r.KeyID}); err != nil || string(text) != "a text" {
					t.Errorf("decrypt: %q, %v", text, err)
				}
			}
		})
	}
	for i := range 20 {
		m.Rotate()
		order[m.server.KeyID()] = i + 1
	}
	close(stop)
	clients.Wait()
	for _, path := range paths {
		last := 0
		for _, id := range path {
			if order[id] < last {
				t.Fatalf("%s came after version %d", id, last)
			}
			last = order[id]
		}
	}
}
