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

// stopTimeout is how long requests to the endpoints may go on at the end.
const stopTimeout = 5 * time.Second

// Endpoints are what a probe and a scraper ask.
type Endpoints struct {
	// Listen is an address, such as :8090; empty serves nothing.
	Listen string

	// Ready returns why the program is not ready; nil if it is.
	Ready func() error

	Metrics http.Handler
	Log     logr.Logger
}

// Serve serves the endpoints until end is called. Whoever answers /healthz is healthy.
func (e Endpoints) Serve() (end func(), err error) {
	if e.Listen == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", e.Listen)
	if err != nil {
		return nil, Usagef("--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := e.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("/metrics", e.Metrics)
	end = ServeHTTP(&http.Server{Handler: mux}, listener, e.Log)
	e.Log.Info("Serves /healthz, /readyz and /metrics", "address", listener.Addr().String())
	return end, nil
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
			log.Error(err, "Cannot stop to serve requests", "address", listener.Addr().String())
		}
		<-done
	}
}
