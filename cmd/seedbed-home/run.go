package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/drive"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
	realhome "github.com/seedbed-sim/seedbed/realmode/home"
)

// run is the agent, from its start until ctx ends.
func (o *options) run(ctx context.Context, log logr.Logger) error {
	failed := o.live(ctx, log)
	if ctx.Err() == nil {
		return failed
	}
	// Also while it started: what was cut short by that is no failure.
	log.Info("Has stopped, as it was told to")
	return nil
}

func (o *options) live(ctx context.Context, log logr.Logger) error {
	metrics := newMetrics()
	cfg := o.home
	restConfig, err := o.restConfig()
	if err != nil {
		return err
	}
	kube, err := realhome.Connect(restConfig) // which may be down: this must start all the same
	if err != nil {
		return err
	}
	cfg.Kube = &countedKube{Kube: kube, metrics: metrics}
	cfg.Web = &countedWeb{Web: cfg.Web, metrics: metrics}
	keys, err := o.keys(ctx, cfg)
	if err != nil {
		return err
	}
	if keys != nil {
		cfg.Cache = keys
	}

	// The endpoints come first: New may take a minute, and a probe wants an answer.
	state := &state{}
	end, err := o.serve(state, metrics, log)
	if err != nil {
		return err
	}
	defer end()

	h, err := home.New(ctx, cfg)
	if err != nil {
		return fmt.Errorf("start the home: %w", err)
	}
	defer context.AfterFunc(ctx, h.Close)()
	if host := h.EndpointHost(); host == "" && cfg.Family != home.Unix {
		return fmt.Errorf("the Pod has no address of the family %s", cfg.Family)
	}
	agent, err := drive.NewAgent(ctx, drive.AgentConfig{
		StateDir: o.stateDir, Files: cfg.Files, Clock: cfg.Clock, Templates: &templates{command: o.warm, log: log}, Log: log,
	})
	if err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	h.OnScopeLost(func(ctx context.Context, reason string) {
		metrics.losses.Inc()
		agent.ScopeLost(ctx, reason)
	})
	state.set(h, agent)
	log.Info("Runs", "pod", cfg.PodNamespace+"/"+cfg.PodName, "uid", cfg.PodUID, "epoch", agent.Epoch())

	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx) // a driver that fails ends the home
	running.Go(func() { h.Run(ctx) })
	driver := &drive.Driver{
		Home: h, Agent: agent, Clock: cfg.Clock, Log: log,
		Verifier: &grant.Verifier{Issuer: cfg.GrantIssuerURL, Audience: cfg.PodName, Keys: keys},
	}
	err = driver.Run(ctx)
	cancel()
	running.Wait()
	return err
}

// caFileMax is the size of the largest bundle of certificates that is read.
const caFileMax = 4 << 20

// keys returns the cache of the issuer's keys, or nil if there is no issuer.
func (o *options) keys(ctx context.Context, cfg home.Config) (*grant.Cache, error) {
	if cfg.GrantIssuerURL == "" {
		return nil, nil
	}
	cache := grant.CacheConfig{Issuer: cfg.GrantIssuerURL, Web: cfg.Web, Clock: cfg.Clock}
	if cfg.GrantCAFile != "" {
		cache.Roots = func(ctx context.Context) ([]byte, error) {
			return cfg.Files.ReadFile(ctx, cfg.GrantCAFile, caFileMax)
		}
		roots, err := cache.Roots(ctx)
		if err != nil {
			return nil, daemon.Usagef("--grant-ca-file: %w", err)
		}
		if err := grant.CheckRoots(roots); err != nil {
			return nil, daemon.Usagef("--grant-ca-file %s: %w", cfg.GrantCAFile, err)
		}
	}
	return grant.NewCache(cache), nil
}

// state is what the endpoints show.
type state struct {
	mu    sync.Mutex
	home  *home.Home
	agent *drive.Agent
}

func (s *state) set(h *home.Home, a *drive.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home, s.agent = h, a
}

func (s *state) get() (*home.Home, *drive.Agent, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.home, s.agent, s.home != nil
}

var errNoTemplate = errors.New("no grant has a warm template")

// serve serves the endpoints until end is called.
func (o *options) serve(state *state, metrics *metrics, log logr.Logger) (end func(), err error) {
	if o.listen == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, daemon.Usagef("--listen: %w", err)
	}
	ready := func() error {
		if h, _, ok := state.get(); !ok || !h.Ready() {
			return errNoTemplate
		}
		return nil
	}
	return (&daemon.Endpoints{Ready: ready, Metrics: metrics.handler(state)}).Serve(listener, log), nil
}
