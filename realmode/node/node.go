package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/realmode/gossip"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// Config is what a process is told.
type Config struct {
	Rest *rest.Config

	// Node is the name of the node.
	Node string

	// Addr is where the agent gossips. All nodes have the same port.
	Addr netip.AddrPort

	// Namespace and Secret say where the keys are.
	Namespace, Secret string

	// AcceptPlaintext and SendPlaintext belong to the steps that turn encryption on.
	AcceptPlaintext, SendPlaintext bool

	Clock clock.Clock
	Log   logr.Logger
}

// Process is the agents of one node.
type Process struct {
	cfg     Config
	cluster *kube.Cluster
	agent   *gossipkeys.Agent
	reports *reports
}

// Status is what an agent tells of itself. It holds no keys.
type Status struct {
	Node    string   `json:"node"`
	Members []string `json:"members"`

	// Report is what the node has reported last; its keys are fingerprints, the one that
	// encrypts first.
	Report *gossipkeys.Report `json:"report,omitempty"`
}

// reports keeps the last report.
type reports struct {
	gossipkeys.Reporter
	mu   sync.Mutex
	last *gossipkeys.Report
}

// Report implements gossipkeys.Reporter.
func (r *reports) Report(ctx context.Context, report gossipkeys.Report) error {
	err := r.Reporter.Report(ctx, report)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last = &report
	}
	return err
}

// New makes a process that asks nobody yet.
func New(cfg Config) (*Process, error) {
	cluster, err := kube.Connect(cfg.Rest, kube.Options{Agent: "seedbed-node", Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	log := cfg.Log.WithName("gossip")
	p := &Process{cfg: cfg, cluster: cluster, reports: &reports{Reporter: gossipkeys.NewNodeReporter(cluster.Live(), cluster.Cached(), cfg.Node)}}
	p.agent = gossipkeys.NewAgent(gossipkeys.AgentConfig{
		Node: cfg.Node, Clock: cfg.Clock, Gossip: &gossip.Gossip{Addr: cfg.Addr, Log: log},
		Peers: gossipkeys.NewNodePeers(cluster.Cached(), cfg.Addr.Port()), Reporter: p.reports,
		AcceptPlaintext: cfg.AcceptPlaintext, SendPlaintext: cfg.SendPlaintext, Log: log,
	})
	return p, nil
}

// Grants are the rules that the account of a process needs.
func (c *Config) Grants() []kube.Grant {
	p := gossipkeys.AgentPermissions(gossipkeys.WithSecret(c.Secret, ""))
	return []kube.Grant{{Namespace: c.Namespace, Rules: p.Namespaced}, {Rules: p.Cluster}}
}

var errNoInstance = errors.New("there is no gossip key yet, or no instance could be created")

// Ready returns why the node is not in the gossip cluster. It is nil once it was.
func (p *Process) Ready() error {
	if !p.agent.Ready() {
		return errNoInstance
	}
	return nil
}

// Status tells of the agent.
func (p *Process) Status() Status {
	p.reports.mu.Lock()
	defer p.reports.mu.Unlock()
	return Status{Node: p.cfg.Node, Members: p.agent.Members(), Report: p.reports.last}
}

// Run goes on until ctx ends, and leaves the gossip cluster then, or until the process
// cannot go on. It starts while the API server is down: without keys a node is in no
// cluster, and waits.
func (p *Process) Run(ctx context.Context) error {
	live := p.cluster.Live()
	watcher := gossipkeys.NewSecretWatcher(p.cluster.Cached(), p.cfg.Namespace, gossipkeys.WithSecret(p.cfg.Secret, ""),
		gossipkeys.WithLogger(p.cfg.Log.WithName("gossip")), gossipkeys.WithLiveStart(live), gossipkeys.WithVersions(p.agent.OnVersion))
	if err := p.await(ctx); err != nil {
		return err
	}
	ctx, cancel := p.cfg.Clock.WithCancel(ctx)
	defer cancel()
	group := p.cfg.Clock.NewGroup(ctx)
	var driven, left error
	group.Go("controllers", func(ctx context.Context) {
		driven = p.cluster.Run(ctx, p.agent.Controllers(watcher)...)
		cancel()
	})
	group.Go("agent", func(ctx context.Context) {
		left = p.agent.Run(ctx)
		cancel()
	})
	group.Wait()
	return errors.Join(driven, left)
}

// await waits until the API server can be reached, and asks whether the account may do
// what is declared.
func (p *Process) await(ctx context.Context) error {
	for {
		err := p.cluster.Reach(ctx)
		if err == nil {
			return p.cluster.CheckPermissions(ctx, p.cfg.Grants()...)
		}
		p.cfg.Log.Info("The API server cannot be reached, and is asked again", "after", gossipkeys.ProvisionRetryMin.String(), "reason", err.Error())
		if err := p.cfg.Clock.Sleep(ctx, gossipkeys.ProvisionRetryMin); err != nil {
			return fmt.Errorf("wait for the API server: %w", err)
		}
	}
}
