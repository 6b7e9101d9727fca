package gossipkeys

import (
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/gossip"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// environment is the world of the gossip model: its timers, choices, network
// and trace are those of the simulated cluster.
type environment struct {
	eng     *engine.Engine
	net     *network.Network
	cluster *gossip.Cluster

	members []*member         // by gossip.NodeID
	hosts   map[string]string // by address: the machine that has it
	conns   map[connKey]*network.Conn

	deliver func(any) // the arrival of an envelope at a machine
	hand    func(any) // its arrival at a process
	tap     func(*gossip.Envelope)
	watch   func(gossip.Event)
}

// member is what the environment keeps of one name in the gossip cluster.
type member struct {
	picks   *engine.Stream
	process *engine.Process // whose timers its timers are; nil for an attacker
}

// connKey names a stream: both endpoints, and the dialler's number for it, which
// an instance started later uses again.
type connKey struct {
	dialler, accepter gossip.Addr
	conn              uint32
}

var _ gossip.Env = (*environment)(nil)

func newEnvironment(eng *engine.Engine, net *network.Network) *environment {
	e := &environment{eng: eng, net: net, hosts: map[string]string{}, conns: map[connKey]*network.Conn{}}
	e.cluster = gossip.NewCluster(e)
	e.deliver, e.hand = e.arrive, e.handOver
	return e
}

// add makes a name known: who it is, where it listens, and on which machine.
func (e *environment) add(name, addr, host string, process *engine.Process) {
	id := e.cluster.ID(name)
	for int(id) >= len(e.members) {
		e.members = append(e.members, nil)
	}
	e.members[id] = &member{picks: e.eng.Stream("gossip", name), process: process}
	e.cluster.Addr(addr)
	e.hosts[addr] = host
}

// attach says which process a name's timers belong to from now on.
func (e *environment) attach(name string, process *engine.Process) {
	e.members[e.cluster.ID(name)].process = process
}

// Now implements [gossip.Env].
func (e *environment) Now() time.Duration { return e.eng.Elapsed() }

// After implements [gossip.Env]. The timers of an instance are those of its
// process: they stand still while it is paused, and end with it.
func (e *environment) After(node gossip.NodeID, d time.Duration, fn func(any), arg any) gossip.Timer {
	if m := e.members[node]; m.process != nil && m.process.Alive() {
		return m.process.After(d, fn, arg)
	}
	return e.eng.After(d, fn, arg)
}

// Intn implements [gossip.Env].
func (e *environment) Intn(node gossip.NodeID, n int) int { return e.members[node].picks.Intn(n) }

// Send implements [gossip.Env].
func (e *environment) Send(env *gossip.Envelope) error {
	if e.tap != nil {
		e.tap(env)
	}
	from, to := e.host(env.From), e.host(env.To)
	if from == "" || to == "" {
		return fmt.Errorf("send to %s: no machine has this address: %w", e.cluster.AddrName(env.To), gossip.ErrUnreachable)
	}
	if !env.Stream {
		e.net.Send(from, to, e.deliver, env)
		return nil
	}
	// A connection that breaks is silence to the model, which has timeouts.
	_ = e.conn(env, from, to).Send(from, e.deliver, env)
	return nil
}

// arrive hands an envelope to whoever listens; a process that is paused gets it
// when it goes on, and one that has died since does not get it any more.
func (e *environment) arrive(arg any) {
	env := arg.(*gossip.Envelope)
	if owner := e.cluster.Owner(env.To); owner != gossip.Nobody {
		if p := e.members[owner].process; p != nil && p.Alive() && p.Paused() {
			p.Deliver(e.hand, arg)
			return
		}
	}
	e.cluster.Deliver(env)
}

func (e *environment) handOver(arg any) { e.cluster.Deliver(arg.(*gossip.Envelope)) }

// conn is the connection that a leg of a stream travels on.
func (e *environment) conn(env *gossip.Envelope, from, to string) *network.Conn {
	key := connKey{env.From, env.To, env.Conn}
	switch env.Step {
	case gossip.StepAccept, gossip.StepRefuse, gossip.StepResponse, gossip.StepClose:
		key.dialler, key.accepter = env.To, env.From
	}
	conn := e.conns[key]
	if conn == nil || env.Step == gossip.StepDial {
		conn = e.net.Dial(from, to)
		e.conns[key] = conn
	}
	switch env.Step {
	case gossip.StepRefuse, gossip.StepResponse, gossip.StepClose:
		delete(e.conns, key)
	}
	return conn
}

func (e *environment) host(a gossip.Addr) string { return e.hosts[e.cluster.AddrName(a)] }

// Emit implements [gossip.Env].
func (e *environment) Emit(ev gossip.Event) {
	node, peer := e.cluster.Name(ev.Node), e.cluster.Name(ev.Peer)
	e.eng.Emit(engine.Event{
		Kind: "sys", Actor: node, Verb: ev.Kind.String(), Object: peer, N: uint64(ev.Inc),
		Detail: func() string { return e.describe(ev) },
	})
	if e.watch != nil {
		e.watch(ev)
	}
	e.eng.Touch()
}

// describe puts an event into words.
func (e *environment) describe(ev gossip.Event) string {
	node, peer, by := e.cluster.Name(ev.Node), e.cluster.Name(ev.Peer), e.cluster.Name(ev.By)
	switch ev.Kind {
	case gossip.EventJoin:
		return fmt.Sprintf("%s sees %s join", node, peer)
	case gossip.EventLeave:
		return fmt.Sprintf("%s no longer lists %s (%s)", node, peer, ev.Reason)
	case gossip.EventSuspect:
		return fmt.Sprintf("%s suspects %s", node, peer)
	case gossip.EventRefute:
		return fmt.Sprintf("%s contradicts %s, who thought it dead", node, by)
	case gossip.EventDecryptFail:
		return fmt.Sprintf("%s cannot accept what %s sent (%s)", node, peer, ev.Reason)
	case gossip.EventDown:
		return fmt.Sprintf("the gossip instance of %s ends (%s)", node, ev.Reason)
	}
	return fmt.Sprintf("%s: %s %s", node, ev.Kind, peer)
}
