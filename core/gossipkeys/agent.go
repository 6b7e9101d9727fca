package gossipkeys

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// AgentConfig says what an Agent is made of.
type AgentConfig struct {
	// Node is the name of the agent's Node, and of its gossip member.
	Node string

	Clock  clock.Clock
	Gossip Gossip
	Peers  Peers

	// Reporter is told what the ring holds. Nil means nobody is, and no
	// Rotator can work with this node.
	Reporter Reporter

	// Mode says which keys of a list are installed; WholeList if empty.
	Mode Mode

	// AcceptPlaintext accepts what is not encrypted (VerifyIncoming off);
	// SendPlaintext does not encrypt (VerifyOutgoing off). Neither belongs
	// anywhere but in the steps that turn encryption on in a cluster that runs
	// without. With both, there is still no instance before there is a key.
	AcceptPlaintext, SendPlaintext bool

	// OnMemberEvent, when not nil, is told of changes of membership until the
	// instance is shut down, one call at a time. It must not block nor call
	// the agent.
	OnMemberEvent func(MemberEvent)

	// Log says what the agent does; the zero value is silent.
	Log logr.Logger
}

// Agent is the part of a node agent that is a member of the gossip cluster. It
// begins as nobody: without keys it has no instance and no members, claims no
// address, and speaks to nobody.
//
// Run does the work. All other methods may be called at any time, from any
// task, and do not block.
type Agent struct {
	AgentConfig

	// Each wakes the one task that waits for it.
	keysCame, joinDue, reportDue clock.Signal

	// mu guards the rest. It is not held during a call of any port: a port may
	// call back (OnEvent), or pass control to another task.
	mu       sync.Mutex
	latest   Keys // as delivered last
	version  Version
	versions Keys // the list version is the version of
	ring     Keys // what the ring holds; nil while that is uncertain
	ringTime time.Time
	instance Instance
	ready    bool
	life     life
}

// life is where an Agent is on its way from start to end.
type life int

const (
	unborn  life = iota
	running      // Run works
	leaving      // claims nothing any more, events still come
	over         // the instance, if there was one, is shut down
)

// NewAgent returns an agent that has yet to Run.
func NewAgent(config AgentConfig) *Agent {
	return &Agent{
		AgentConfig: config,
		keysCame:    config.Clock.NewSignal(),
		joinDue:     config.Clock.NewSignal(),
		reportDue:   config.Clock.NewSignal(),
	}
}

// Controllers registers the agent with source and returns the controllers to be
// driven while it runs: the source's, and one that notices new Nodes.
func (a *Agent) Controllers(source KeySource) []kube.Controller {
	return []kube.Controller{source.Watch(a.OnKeys), a.peersController()}
}

// OnKeys takes the key list to install: the handler for KeySource.Watch. It
// only stores the list and wakes the worker, which always takes the latest one.
func (a *Agent) OnKeys(keys Keys) {
	a.mu.Lock()
	a.latest = keys
	a.mu.Unlock()
	a.keysCame.Send()
}

// OnVersion takes the version of a key list, so that the agent can report it
// once its ring holds that list: the handler for WithVersions.
func (a *Agent) OnVersion(v Version, keys Keys) {
	a.mu.Lock()
	a.version, a.versions = v, keys
	held := a.Mode.Ring(keys).Equal(a.ring)
	a.mu.Unlock()
	if held {
		a.reportDue.Send() // else the worker does, once the ring holds them
	}
}

// Run creates the instance when the first keys arrive, keeps its ring at the
// latest list and the instance joined to its peers, and reports. When ctx ends
// it waits for all of that to stop, and only then leaves the cluster and shuts
// the instance down, so that none is created behind its back. Its error is
// about leaving only. Run may be called once.
func (a *Agent) Run(ctx context.Context) error {
	if !a.enter(running, unborn) {
		return errors.New("gossip agent runs already, or has run")
	}
	group := a.Clock.NewGroup(ctx)
	group.Go("gossip-keys", a.keepApplied)
	group.Go("gossip-join", a.keepJoined)
	group.Go("gossip-warn", a.warnWithoutInstance)
	if a.Reporter != nil {
		group.Go("gossip-report", a.keepReported)
	}
	group.Wait()
	return a.stop()
}

func (a *Agent) stop() error {
	a.enter(leaving, running)
	defer a.enter(over, leaving)
	a.mu.Lock()
	instance := a.instance
	a.mu.Unlock()
	if instance == nil {
		return nil
	}
	var errs []error
	if err := instance.Leave(LeaveTimeout); err != nil {
		errs = append(errs, fmt.Errorf("leave the gossip cluster: %w", err))
	}
	if err := instance.Shutdown(); err != nil {
		errs = append(errs, fmt.Errorf("shut the gossip instance down: %w", err))
	}
	return errors.Join(errs...)
}

// enter goes from one part of life to the next.
func (a *Agent) enter(to, from life) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life != from {
		return false
	}
	a.life = to
	return true
}

// warnWithoutInstance says once in a while that the node is not in the cluster.
func (a *Agent) warnWithoutInstance(ctx context.Context) {
	for a.Clock.Sleep(ctx, NoKeyWarningInterval) == nil && !a.Ready() {
		a.Log.Info("Not in the gossip cluster: there is no key yet, or no instance could be created")
	}
}

// Ready reports whether the agent has ever had an instance. It never goes back
// to false.
func (a *Agent) Ready() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ready
}

// Members returns the names of the members, sorted; none before there is an
// instance and none once Run has begun to leave.
func (a *Agent) Members() []string {
	a.mu.Lock()
	instance := a.instance
	if a.life != running {
		instance = nil
	}
	a.mu.Unlock() // an instance takes its own locks, under which it calls onEvent
	if instance == nil {
		return nil
	}
	var names []string
	for _, m := range instance.Members() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// OwnsIP reports whether this node should own ip: whether it is the Owner among
// the members.
func (a *Agent) OwnsIP(ip netip.Addr) bool {
	members := a.Members()
	return len(members) > 0 && Owner(members, ip) == a.Node
}

func (a *Agent) onEvent(event MemberEvent) {
	a.mu.Lock()
	ended := a.life == over
	a.mu.Unlock()
	if !ended && a.OnMemberEvent != nil {
		a.OnMemberEvent(event)
	}
}

// await waits until the signal is sent, but at most for d, or for ever if d is
// zero. It reports false once ctx has ended.
func (a *Agent) await(ctx context.Context, signal clock.Signal, d time.Duration) bool {
	wait, cancel := ctx, context.CancelFunc(func() {})
	if d > 0 {
		wait, cancel = a.Clock.WithTimeout(ctx, d)
	}
	defer cancel()
	// An error only says that the wait is over; ctx tells why.
	_ = signal.Wait(wait)
	return ctx.Err() == nil
}
