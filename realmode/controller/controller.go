package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/leaderelection"
	realcloak "github.com/seedbed-sim/seedbed/realmode/cloak"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// Process is one process of the controllers.
type Process struct {
	cfg      Config
	cluster  *kube.Cluster // of the controllers
	election *kube.Cluster // of the elector: it waits for no other requests
	elector  *leaderelection.Elector

	ready, leads atomic.Bool
}

// New checks the configuration, and asks nobody.
func New(cfg Config) (*Process, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Process{cfg: cfg}
	var err error
	options := kube.Options{QPS: cfg.QPS, Burst: cfg.Burst, Agent: LeaseName, Slim: realcloak.Slim, Log: cfg.Log}
	if p.cluster, err = kube.Connect(cfg.Rest, options); err != nil {
		return nil, err
	}
	if p.election, err = kube.Connect(cfg.Rest, kube.Options{QPS: -1, Agent: LeaseName, Log: cfg.Log}); err != nil {
		return nil, err
	}
	p.elector, err = leaderelection.New(leaderelection.Config{
		Live: p.election.Live(), Clock: cfg.Clock, Lease: client.ObjectKey{Namespace: cfg.Namespace, Name: LeaseName},
		Identity: cfg.Identity, Floor: p.floor, Log: cfg.Log,
		LeaseDuration: cfg.LeaseDuration, RenewDeadline: cfg.RenewDeadline, RetryPeriod: cfg.RetryPeriod,
	})
	return p, err
}

var errNotReady = errors.New("it is not known yet whether the cluster has all that is needed")

// Ready returns why the process does not do its work, or is not there to take it over.
func (p *Process) Ready() error {
	if !p.ready.Load() {
		return errNotReady
	}
	return nil
}

// Leads reports whether this process leads.
func (p *Process) Leads() bool { return p.leads.Load() }

// Epoch is the number of the leadership of this process; zero before it had one.
func (p *Process) Epoch() int64 { return p.elector.Epoch() }

// Run goes on until ctx ends, and then returns nil, or until the process cannot: it must
// end then, and be started anew.
func (p *Process) Run(ctx context.Context) error {
	if err := p.check(ctx); err != nil {
		return err
	}
	end, err := p.serveWebhook(ctx)
	if err != nil {
		return err
	}
	defer end()
	p.ready.Store(true)
	defer p.ready.Store(false)
	if p.cfg.Encryption == nil && p.cfg.Gossip == nil && !p.cfg.Shadows {
		<-ctx.Done() // the webhook is served by all
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	err = p.elector.Run(ctx, func(ctx context.Context) {
		if failed = p.lead(ctx); failed != nil {
			cancel()
		}
	})
	return errors.Join(failed, err)
}

// check asks whether the cluster is there and has what is needed.
func (p *Process) check(ctx context.Context) error {
	if err := p.cluster.Reach(ctx); err != nil {
		return err
	}
	if p.cfg.Encryption != nil {
		if err := p.cluster.CheckDefinitions(&v1alpha1.EncryptionPolicy{}, &v1alpha1.EncryptionNodeState{}); err != nil {
			return err
		}
	}
	return p.cluster.CheckPermissions(ctx, p.cfg.Grants()...)
}

// lead runs the controllers for as long as the process leads.
func (p *Process) lead(ctx context.Context) error {
	p.leads.Store(true)
	defer p.leads.Store(false)
	events, err := p.cluster.Events(LeaseName)
	if err != nil {
		return err
	}
	defer events.Close()
	work, err := p.work(events)
	if err != nil {
		return err
	}
	ctx, cancel := p.cfg.Clock.WithCancel(ctx)
	defer cancel()
	group := p.cfg.Clock.NewGroup(ctx)
	for _, name := range slices.Sorted(maps.Keys(work.tasks)) {
		group.Go(name, work.tasks[name])
	}
	err = p.cluster.Run(ctx, work.controllers...)
	cancel()
	group.Wait()
	if err != nil {
		return fmt.Errorf("run the controllers: %w", err)
	}
	return nil
}
