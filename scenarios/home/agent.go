package home

import (
	"context"
	"errors"
	"time"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/drive"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// agent returns the main function of a Pod's container: what fiberd does at its start,
// in that order.
func (s *State) agent(pod *grantPod) func(ctx context.Context, env *cluster.Env) {
	return func(ctx context.Context, env *cluster.Env) {
		l := s.begin(pod, env)
		env.OnEnd(l.end)
		work, cancel := env.Clock.WithCancel(ctx)
		l.cancel = cancel
		if err := l.run(work); err != nil {
			l.log.Error(err, "The agent ends")
			return
		}
		// What acts after the home has stopped would do so now.
		_ = env.Clock.Sleep(ctx, s.config.Poll.Std()+time.Second)
	}
}

// run is the life of the home: it returns when the home has stopped.
func (l *life) run(ctx context.Context) error {
	s, env := l.state, l.env
	w := observedWeb{&web{state: s, host: env.Node, proc: env.Sim()}, l}
	keys := grant.NewCache(grant.CacheConfig{Issuer: issuerURL, Web: w, Clock: env.Clock, MaxStale: s.config.Lease.Std()})
	h, err := l.newHome(ctx, keys, w)
	if err != nil {
		return err
	}
	l.askAddress(h)
	books, err := drive.NewAgent(ctx, drive.AgentConfig{
		StateDir: l.pod.volumes.state(), Files: observedFiles{l.files(), l}, Clock: env.Clock,
		Templates: &templates{life: l}, Log: l.log,
	})
	if err != nil {
		return err
	}
	l.books = books
	h.OnScopeLost(l.scopeLost)
	driver := &drive.Driver{
		Home: observedHome{h, l}, Agent: books, Clock: env.Clock, Log: l.log,
		Verifier: &grant.Verifier{Issuer: issuerURL, Audience: l.pod.slot.name, Keys: keys},
	}
	work := env.Clock.NewGroup(ctx)
	work.Go("drive", func(ctx context.Context) {
		if err := driver.Run(ctx); err != nil {
			l.log.Error(err, "The driver ends")
		}
	})
	work.Go("observe", func(ctx context.Context) { l.observeLane(ctx, h) })
	l.ran(func() { h.Run(ctx) })
	work.Wait()
	l.stopped = true
	return nil
}

// newHome builds the home under observation.
func (l *life) newHome(ctx context.Context, keys home.KeyCache, w grant.Web) (*home.Home, error) {
	s, env := l.state, l.env
	cfg := home.Config{
		Kube:    observedKube{s.newKubeClient(env.Kube, l.pod.slot), l},
		PodName: l.pod.slot.name, PodNamespace: Namespace, PodUID: l.pod.uid,
		Poll: s.config.Poll.Std(), GrantsDir: l.pod.volumes.grants(), Cache: keys, Family: s.config.Family,
		Devices: s.config.Devices, Clock: env.Clock, Files: observedFiles{l.files(), l}, Web: w, Logger: l.log,
	}
	if s.config.Fetch {
		cfg.GrantTokenFile, cfg.GrantIssuerURL = tokenFile, issuerURL
	}
	l.beginNew()
	h, err := home.New(ctx, cfg)
	l.endNew(ctx, h, err)
	return h, err
}

func (l *life) files() filesystem { return filesystem{l.env.Disk(), l.pod.volumes} }

// terminate is SIGTERM: the agent goes on for a while, and then stops.
func (s *State) terminate(pod *grantPod) {
	l := pod.lives[len(pod.lives)-1]
	if l.cancel == nil {
		return
	}
	l.ending = true
	d := s.world.Engine().Stream("drain", pod.slot.name).Duration(dist(s.config.Drain))
	l.env.Sim().After(d, func(any) { l.cancel() }, nil)
}

// dist is a span as an even distribution.
func dist(s scenarios.Span) engine.Dist {
	if s.Min == s.Max {
		return engine.Constant(s.Min)
	}
	return engine.Dist{Min: s.Min, Max: s.Max}
}

var errTemplate = errors.New("the template's build was stopped")

// templates builds templates, which takes time and nothing else.
type templates struct{ life *life }

// Warm implements drive.Templates.
func (t *templates) Warm(ctx context.Context, _ grant.Grant, devices home.DeviceChannel) error {
	l := t.life
	l.channel = devices.Kind
	d := l.state.world.Engine().Stream("template", l.pod.slot.name).Duration(dist(l.state.config.Build))
	if l.env.Clock.Sleep(ctx, d) != nil {
		return errTemplate
	}
	l.built++
	return nil
}

// Cool implements drive.Templates.
func (t *templates) Cool(context.Context, string) {}
