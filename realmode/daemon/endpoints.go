package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

// stopTimeout is how long requests may go on at the end, and how long a client may take
// to say what it wants.
const stopTimeout = 5 * time.Second

// Endpoints tell whoever asks over HTTP how a program is.
type Endpoints struct {
	// Alive is asked for /healthz and Ready for /readyz: nil is well, and the text of an
	// error is the answer otherwise. A nil Alive is always well.
	Alive, Ready func() error

	Metrics http.Handler

	// More are other paths, such as /gossip.
	More map[string]http.Handler
}

// Listen serves the endpoints on the address of the flag --listen until end is called; on
// none if it is empty.
func (e *Endpoints) Listen(address string, log logr.Logger) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, Usagef("--listen: %w", err)
	}
	return e.Serve(listener, log), nil
}

// Serve serves the endpoints on a listener until end is called.
func (e *Endpoints) Serve(listener net.Listener, log logr.Logger) (end func()) {
	mux := http.NewServeMux()
	mux.Handle("/healthz", answer(e.Alive))
	mux.Handle("/readyz", answer(e.Ready))
	mux.Handle("/metrics", e.Metrics)
	for path, handler := range e.More {
		mux.Handle(path, handler)
	}
	log.Info("Serves /healthz, /readyz and /metrics", "address", listener.Addr().String())
	return ServeHTTP(&http.Server{Handler: mux}, listener, log)
}

// ServeHTTP serves until end is called, which lets requests come to their end for a
// while.
func ServeHTTP(server *http.Server, listener net.Listener, log logr.Logger) (end func()) {
	server.ReadHeaderTimeout = stopTimeout
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error(err, "Requests are not served any more", "address", listener.Addr().String())
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			log.Error(err, "Requests could not come to their end", "address", listener.Addr().String())
		}
		<-done
	}
}

func answer(how func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if how != nil {
			if err := how(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	})
}

// Loopback checks that an address is one that only this machine can reach.
func Loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is no host and port, such as 127.0.0.1:8090", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q can be reached from elsewhere: use 127.0.0.1 or [::1]", address)
	}
	return nil
}
