package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	restclient "k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/live"
)

// Options say what is served and how.
type Options struct {
	// Registry knows what scenarios may name.
	Registry *scenarios.Registry

	// World is the cluster. A zero Start means now.
	World World

	// Speed of virtual time; zero is live.Real.
	Speed live.Speed

	// Paused lets virtual time stand still at the start.
	Paused bool

	// Listen is the address to listen on; empty means a free port of 127.0.0.1.
	Listen string

	// Journal, if set, gets what comes from outside: see live.Journal. It holds
	// secrets that clients send.
	Journal io.Writer

	// Trace, if set, gets the events of the trace, a line of JSON each.
	Trace io.Writer
}

// Server is a simulated cluster on the network.
type Server struct {
	world    *Opened
	registry *scenarios.Registry
	driver   *live.Driver
	trace    *recorder
	identity *identity
	token    string
	url      string
	http     *http.Server
	began    time.Time
	watches  atomic.Int64 // open ones
	stop     context.CancelFunc
	ended    chan struct{}
	err      error // of the run; good once ended is closed
}

// drainTime is how long requests under way have when the server stops.
const drainTime = 2 * time.Second

// Start builds the cluster and serves it. The run goes on until Stop, or until it
// fails: see Ended.
func Start(o Options) (*Server, error) {
	s := &Server{registry: o.Registry, trace: &recorder{out: o.Trace}, token: newToken(), began: time.Now(), ended: make(chan struct{})}
	if o.World.Start.IsZero() {
		o.World.Start = s.began.UTC().Truncate(time.Second)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	if err := s.open(&o, listener); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		s.err = s.driver.Run(ctx)
		close(s.ended)
	}()
	go func() { _ = s.http.ServeTLS(listener, "", "") }() // until Stop
	return s, nil
}

// open makes everything that is served on the listener.
func (s *Server) open(o *Options, listener net.Listener) (err error) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return err
	}
	if s.identity, err = newIdentity(host); err != nil {
		return err
	}
	s.url = "https://" + address(listener.Addr(), host)
	if s.world, err = o.World.Open(o.Registry, s.trace.take); err != nil {
		return err
	}
	options := live.Options{Speed: o.Speed, Paused: o.Paused}
	if o.Journal != nil {
		if options.Journal, err = live.NewJournal(o.Journal, o.World); err != nil {
			return errors.Join(err, s.world.Close())
		}
	}
	s.driver = live.New(s.world.Cluster, options)
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 3 * time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{s.identity.certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:  log.New(io.Discard, "", 0), // clients that leave, and those that do not know the authority
	}
	return nil
}

// address is where clients on this machine find a listener: one that listens
// everywhere is found on the loopback.
func address(a net.Addr, host string) string {
	_, port, _ := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// administrator is who has the token.
var administrator = apiserver.User{Name: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"}}

func (s *Server) handler() http.Handler {
	admin := administrator
	api := rest.New(s.world.Instances()[0].Server(),
		rest.WithCaller(&cutting{s.driver.Caller(visitor)}), rest.WithGate(s.driver.Gate),
		rest.WithClock(s.driver), rest.WithTokens(map[string]*apiserver.User{s.token: &admin}))
	mux := http.NewServeMux()
	mux.Handle("/", s.connection(api))
	mux.Handle(debugPath, s.authenticated(s.debug()))
	return mux
}

// URL is where the cluster is.
func (s *Server) URL() string { return s.url }

// Config is a client configuration of the administrator.
func (s *Server) Config() *restclient.Config {
	return &restclient.Config{Host: s.url, BearerToken: s.token, TLSClientConfig: restclient.TLSClientConfig{CAData: s.identity.ca}}
}

// Ended is closed when the run has ended, by Stop or because it failed.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Summary is how a run came out.
type Summary struct {
	live.State
	Wall       time.Duration
	Properties []sim.Standing
}

// Broken returns the first property that has broken, or nil.
func (s *Summary) Broken() *sim.Standing {
	for i := range s.Properties {
		if s.Properties[i].Broken != nil {
			return &s.Properties[i]
		}
	}
	return nil
}

// Stop ends the run and returns how it came out. The error is why the run has failed
// by itself, or what went wrong with the journal or the trace.
func (s *Server) Stop() (*Summary, error) {
	s.stop()
	<-s.ended
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // watches do not end by themselves
	}
	sum := &Summary{State: s.driver.Summary(), Wall: time.Since(s.began), Properties: s.world.Properties()}
	err := s.err
	if s.trace.err != nil {
		err = errors.Join(err, fmt.Errorf("write the trace: %w", s.trace.err))
	}
	return sum, errors.Join(err, s.world.Close())
}
