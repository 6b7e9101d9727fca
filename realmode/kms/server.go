package kms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	kmsapi "k8s.io/kms/apis/v2"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Defaults of a [Config].
const (
	// DefaultProbeInterval is how often the key is tried, and so how late a rotation is
	// noticed at most.
	DefaultProbeInterval = 10 * time.Second

	// DefaultCallTimeout is less than the three seconds after which API servers give
	// up, so that they are told what was wrong.
	DefaultCallTimeout = 2500 * time.Millisecond

	DefaultDrainTimeout = 10 * time.Second
)

// watchInterval is how often it is looked whether the socket is still this process's.
const watchInterval = 250 * time.Millisecond

// Config is what a [Server] needs. Path, Provider, Clock and Registerer are required.
type Config struct {
	// Path is where the socket is made; see [SocketPath].
	Path string

	// TakeOver takes the socket from a process that answers on it.
	TakeOver bool

	// SharedDirectory accepts a directory in which others may write.
	SharedDirectory bool

	Provider Provider

	// ProbeInterval, CallTimeout and DrainTimeout bound the pause between two tries of
	// the key, a call, and how long calls may go on when the server ends.
	ProbeInterval, CallTimeout, DrainTimeout time.Duration

	Clock      clock.Clock
	Log        logr.Logger
	Registerer prometheus.Registerer
}

// Server is a KMS v2 plugin that listens.
type Server struct {
	cfg    Config
	keeper *keeper
	socket *socket
	grpc   *grpc.Server
	served chan error
	look   clock.Signal
}

// Start tries the key, and then listens. If the key does not work now, it fails.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{{&cfg.ProbeInterval, DefaultProbeInterval}, {&cfg.CallTimeout, DefaultCallTimeout}, {&cfg.DrainTimeout, DefaultDrainTimeout}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	k := &keeper{
		provider: cfg.Provider, clock: cfg.Clock, log: logr.Discard(), metrics: m, replaced: map[string]bool{},
		timeout: max(cfg.ProbeInterval, cfg.CallTimeout), stale: 3*cfg.ProbeInterval + cfg.CallTimeout,
	}
	if err := k.probe(ctx); err != nil {
		return nil, err
	}
	k.log = cfg.Log
	s := &Server{
		cfg: cfg, keeper: k, served: make(chan error, 1), look: cfg.Clock.NewSignal(),
		grpc: grpc.NewServer(grpc.MaxRecvMsgSize(messageMax), grpc.ConnectionTimeout(cfg.CallTimeout), grpc.UnaryInterceptor(m.intercept(cfg.Clock))),
	}
	// Only the translation of calls is taken from there: its own ListenAndServe neither
	// sets modes nor can hand a socket over.
	calls := service.NewGRPCService("", cfg.CallTimeout, &plugin{keeper: k, clock: cfg.Clock, timeout: cfg.CallTimeout})
	kmsapi.RegisterKeyManagementServiceServer(s.grpc, calls)
	if s.socket, err = listen(cfg.Path, cfg.TakeOver, cfg.SharedDirectory); err != nil {
		return nil, err
	}
	go func() { s.served <- s.grpc.Serve(s.socket) }()
	cfg.Log.Info("Listens", "socket", cfg.Path, "keyID", k.keyID())
	return s, nil
}

// KeyID is the version of the key that seals.
func (s *Server) KeyID() string { return s.keeper.keyID() }

// Ready says what is wrong with the plugin, if something is.
func (s *Server) Ready() error { return both(s.keeper.healthy(), s.socket.mine()) }

// Look makes the server look at the key now, and not only when it is time.
func (s *Server) Look() { s.look.Send() }

// Run runs the server until ctx ends, or another process has taken the socket over;
// then calls that were begun are answered, and the socket is removed if it is still this
// server's. It is an error if somebody else has removed it.
func (s *Server) Run(ctx context.Context) error {
	inner, cancel := s.cfg.Clock.WithCancel(ctx)
	defer cancel()
	tasks := s.cfg.Clock.NewGroup(inner)
	var lost, failed error
	tasks.Go("probe", s.probe)
	tasks.Go("watch", func(ctx context.Context) {
		defer cancel()
		lost = s.watch(ctx)
	})
	tasks.Go("serve", func(ctx context.Context) {
		defer cancel()
		select {
		case failed = <-s.served:
		case <-ctx.Done():
		}
	})
	tasks.Wait()
	if errors.Is(lost, ErrTakenOver) {
		s.cfg.Log.Info("Another process has taken the socket over")
		lost = nil
	}
	err := s.drain()
	if failed != nil {
		failed = fmt.Errorf("serve: %w", failed)
	}
	return both(failed, both(lost, err))
}

// probe tries the key again and again.
func (s *Server) probe(ctx context.Context) {
	for {
		wait, cancel := s.cfg.Clock.WithTimeout(ctx, s.cfg.ProbeInterval)
		_ = s.look.Wait(wait) // sent, or time has passed
		cancel()
		if ctx.Err() != nil {
			return
		}
		_ = s.keeper.probe(ctx) // it is known by Status, metrics and the log
	}
}

// watch returns when the socket is not the server's any more, or ctx has ended.
func (s *Server) watch(ctx context.Context) error {
	for s.cfg.Clock.Sleep(ctx, watchInterval) == nil {
		if err := s.socket.mine(); err != nil {
			return err
		}
	}
	return nil
}

// drain takes no more connections and waits for the calls that there are.
func (s *Server) drain() error {
	err := s.socket.remove()
	done := s.cfg.Clock.NewGroup(context.Background())
	patience := s.cfg.DrainTimeout
	ctx, cancel := s.cfg.Clock.WithTimeout(context.Background(), patience)
	defer cancel()
	done.Go("drain", func(context.Context) {
		defer cancel()
		s.grpc.GracefulStop()
	})
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.cfg.Log.Info("Calls are not at their end and are cut off", "after", patience)
		s.grpc.Stop()
	}
	done.Wait()
	return err
}
