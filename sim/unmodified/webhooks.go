package unmodified

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"syscall"
	"testing/synctest"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	fakewebhook "github.com/seedbed-sim/seedbed/fakes/apiserver/webhook"
)

// serverKey is where the context of Start has the program's webhook server.
type serverKey struct{}

// reviewKey is where the context of a review says that it is one.
type reviewKey struct{}

// WebhookServer returns what serves the webhooks of the program that Start was called
// for with that context; it is for the options of a manager:
//
//	ctrl.NewManager(cfg, ctrl.Options{WebhookServer: unmodified.WebhookServer(ctx)})
//
// The API servers ask it about what Program.Webhooks say, from when the manager has
// started it until the program ends; nobody listens on a port, and there are no
// certificates. A review takes no virtual time. What its handler reads or writes in the
// cluster happens at once and meets no fault; one that waits for anything else has timed
// out. It panics in a context of another kind.
func WebhookServer(ctx context.Context) webhook.Server {
	s, ok := ctx.Value(serverKey{}).(*webhookServer)
	if !ok {
		panic("unmodified: WebhookServer needs the context that Start was called with")
	}
	return s
}

// webhookServer is a webhook.Server of one incarnation of a program.
type webhookServer struct {
	mux  *http.ServeMux
	over context.Context // of the incarnation

	mu      sync.Mutex
	serving bool
}

var _ webhook.Server = (*webhookServer)(nil)

func newWebhookServer(over context.Context) *webhookServer {
	return &webhookServer{mux: http.NewServeMux(), over: over}
}

// NeedLeaderElection implements webhook.Server.
func (s *webhookServer) NeedLeaderElection() bool { return false }

// Register implements webhook.Server.
func (s *webhookServer) Register(path string, hook http.Handler) { s.mux.Handle(path, hook) }

// WebhookMux implements webhook.Server.
func (s *webhookServer) WebhookMux() *http.ServeMux { return s.mux }

// Start implements webhook.Server.
func (s *webhookServer) Start(ctx context.Context) error {
	s.serve(true)
	defer s.serve(false)
	<-ctx.Done()
	return nil
}

func (s *webhookServer) serve(serving bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = serving
}

func (s *webhookServer) isServing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serving
}

// errRefused is how a connection to a program that does not run ends.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

var errNotServed = errors.New("webhook server is not started")

// StartedChecker implements webhook.Server.
func (s *webhookServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.isServing() {
			return errNotServed
		}
		return nil
	}
}

// review asks the server, and waits until nothing in the bubble can go on. It is called
// in the engine.
func (s *webhookServer) review(path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(context.WithValue(s.over, reviewKey{}, true))
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	rec, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		s.mux.ServeHTTP(rec, request)
	}()
	synctest.Wait()
	select {
	case <-done:
	default:
		cancel()
		synctest.Wait()
		return nil, context.DeadlineExceeded
	}
	if rec.Code != http.StatusOK {
		return nil, fmt.Errorf("an error on the server (%q) has prevented the request from succeeding", rec.Body)
	}
	return rec.Body.Bytes(), nil
}

// ask puts a review to whatever incarnation of the program there is. It is called in the
// engine.
func (r *runner) ask(path string, body []byte) ([]byte, error) {
	i := r.current
	if i == nil || i.gate.isClosed() || !i.webhooks.isServing() {
		return nil, &url.Error{Op: "Post", URL: path, Err: errRefused}
	}
	answer, err := i.webhooks.review(path, body)
	if err != nil {
		return nil, &url.Error{Op: "Post", URL: path, Err: err}
	}
	return answer, nil
}

// direct makes a request of a review's handler, which has no time to wait at the gate.
func (g *gate) direct(req *apiserver.Request) (*apiserver.Response, error) {
	own := *req
	own.User = g.to.runner.program.User
	return g.bubble.server.Do(&own)
}

// serveWebhooks makes the API servers ask a program about what webhook configurations say.
func (w *World) serveWebhooks(r *runner) error {
	for _, config := range r.program.Webhooks {
		var hooks []admission.Hook
		var err error
		switch c := config.(type) {
		case *registrationv1.MutatingWebhookConfiguration:
			hooks, err = fakewebhook.Mutating(c, r.ask)
		case *registrationv1.ValidatingWebhookConfiguration:
			hooks, err = fakewebhook.Validating(c, r.ask)
		default:
			err = fmt.Errorf("%T is no webhook configuration of admissionregistration.k8s.io/v1", config)
		}
		if err != nil {
			return fmt.Errorf("webhooks of program %s: %w", r.program.Name, err)
		}
		for _, h := range hooks {
			w.Store().Hook(h)
		}
	}
	return nil
}
