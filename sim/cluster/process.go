package cluster

import (
	"context"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// ProcessSpec describes one simulated operating system process.
type ProcessSpec struct {
	// Name is unique on its node. On the control plane it is the whole name of
	// the process; on a node it follows the node's: "node-1/agent".
	Name string

	// Main is what the process does. It is called once per incarnation, with
	// everything the process can reach in env; whatever it allocates is the
	// memory of that incarnation. When it returns the process has ended.
	Main func(ctx context.Context, env *Env)

	// Restart says what happens when the process ends.
	Restart Restart

	// User makes its API requests; nil is the cluster administrator.
	User *apiserver.User
}

// Restart is a restart policy. The zero value restarts after a crash and after
// an exit, with the delays of a kubelet.
type Restart struct {
	// Never keeps the process down.
	Never bool

	// Delay is how long a start takes; zero means one second.
	Delay time.Duration

	// Base and Max bound the back-off of a process that keeps ending: none
	// after the first end, then Base, doubled each time, up to Max. A process
	// that has run for ten minutes starts anew. Zero means 10 s and 5 min.
	Base, Max time.Duration
}

const (
	restartDelay = time.Second
	restartBase  = 10 * time.Second
	restartMax   = 5 * time.Minute
	restartReset = 10 * time.Minute
)

// after is the delay before start number n+1, counting ends in a row.
func (r Restart) after(ends int) time.Duration {
	delay, base, limit := r.Delay, r.Base, r.Max
	if delay <= 0 {
		delay = restartDelay
	}
	if base <= 0 {
		base = restartBase
	}
	if limit <= 0 {
		limit = restartMax
	}
	if ends <= 1 {
		return delay
	}
	return delay + min(base<<min(ends-2, 20), limit)
}

// Process is one simulated process, over all its incarnations.
type Process struct {
	cluster *Cluster
	node    *Node
	spec    ProcessSpec
	name    string
	agent   string // its user agent
	index   int

	eng         *engine.Engine
	proc        *engine.Process
	incarnation int
	offset      time.Duration // of the wall clock, as the engine has it
	alive       bool
	stopped     bool // by Stop: not restarted
	ends        int  // in a row
	started     time.Duration
	why         string // of the coming end
	pending     engine.Timer
	hasPending  bool
	backingOff  bool // the pending start is late because earlier ones ended soon

	changed   func() // tells the kubelet of starts and ends
	env       *Env
	informers []*Informer
	streams   []*session // watches opened by tasks
	waiting   []*session // that faults hold back until it writes
	pauses    int        // under way
	held      int        // ever

	client    client.Client
	conn      *Instance
	connEpoch int
	past      *Instance // to which time travel takes it, or nil

	keys         recentKeys
	latency      *engine.Stream
	watchLatency *engine.Stream
	sites        *sites // never nil
}

func (c *Cluster) newProcess(n *Node, spec ProcessSpec) *Process {
	name := spec.Name
	if n != c.control {
		name = n.name + "/" + spec.Name
	}
	p := &Process{
		cluster: c, node: n, spec: spec, name: name, agent: agentName(spec.Name),
		index: len(c.processes), eng: c.eng, proc: c.eng.Process(name),
	}
	if c.processByName[name] != nil {
		panic("cluster: two processes named " + name)
	}
	p.latency = c.eng.Stream("latency", name)
	p.watchLatency = c.eng.Stream("watch-latency", name)
	if n.offset != 0 || n.drift != 0 {
		p.setClock()
	}
	c.processes = append(c.processes, p)
	c.processByName[name] = p
	n.processes = append(n.processes, p)
	c.aim(p)
	return p
}

// agentName is the part of a User-Agent that field management goes by.
func agentName(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[i+1:]
	}
	return name
}

// Name is unique in the cluster: "node-1/agent", or "manager".
func (p *Process) Name() string { return p.name }

// Node is where the process runs.
func (p *Process) Node() *Node { return p.node }

// Alive reports whether an incarnation of the process runs (or is paused).
func (p *Process) Alive() bool { return p.alive }

// Paused reports whether the process is stopped for a while.
func (p *Process) Paused() bool { return p.pauses > 0 }

// Pauses counts the pauses that the process has had, one under way included.
func (p *Process) Pauses() int { return p.held }

// Incarnation counts the starts of the process.
func (p *Process) Incarnation() int { return p.incarnation }

// Env is what the current incarnation works with, or nil.
func (p *Process) Env() *Env { return p.env }

// Start starts the process if it is not alive and its node is up.
func (p *Process) Start() {
	p.stopped = false
	if p.alive || p.node.down {
		return
	}
	p.unschedule()
	p.alive = true
	p.incarnation++
	p.started = p.eng.Elapsed()
	p.why = ""
	p.env = newEnv(p)
	p.cluster.emit("proc", p.name, "start", "", uint64(p.incarnation), "starts")
	p.proc.Start(p.main)
	p.proc.OnEnd(p.ended)
	p.tell()
}

func (p *Process) main(ctx context.Context) {
	env := p.env
	env.root = env.context(ctx)
	p.spec.Main(env.root, env)
}

// Crash ends the process at once: none of its code runs any more. Requests that
// it has sent may still be carried out.
func (p *Process) Crash() { p.crash("crashes") }

func (p *Process) crash(why string) {
	if !p.alive {
		return
	}
	p.why = why
	p.proc.Crash()
}

// Stop crashes the process and keeps it down until Start.
func (p *Process) Stop() {
	p.unschedule()
	if p.alive {
		p.crash("is stopped")
	}
	p.stopped = true
	p.unschedule()
}

// Restart crashes the process and starts it again after d, whatever its
// restart policy says.
func (p *Process) Restart(d time.Duration) {
	p.crash("is restarted")
	p.schedule(d)
}

// Pause stops the process for d, as a long garbage collection or a frozen
// virtual machine does: time goes on, requests are answered and events arrive,
// but no code of the process runs until then.
func (p *Process) Pause(d time.Duration) {
	if goOn := p.hold(); goOn != nil {
		p.eng.After(d, func(any) { goOn() }, nil)
	}
}

// Hold pauses the process until the returned function is called, which may
// happen more than once or after the process has ended. Pauses overlap: the
// process goes on when the last one ends.
func (p *Process) Hold() (goOn func()) {
	release := p.hold()
	return func() {
		if release != nil {
			release()
			release = nil
		}
	}
}

// hold pauses the process until the returned function is called; nil if the
// process is not alive. Pauses overlap.
func (p *Process) hold() (goOn func()) {
	if !p.alive {
		return nil
	}
	p.pauses++
	p.held++
	p.proc.Pause()
	inc := p.incarnation
	p.cluster.emit("proc", p.name, "pause", "", uint64(p.pauses), "is paused")
	return func() {
		if p.incarnation == inc && p.alive {
			p.unpause()
		}
	}
}

func (p *Process) unpause() {
	if p.pauses--; p.pauses > 0 {
		return
	}
	p.cluster.emit("proc", p.name, "resume", "", 0, "goes on")
	p.proc.Resume()
}

// ended runs when an incarnation has ended, by a crash or by itself.
func (p *Process) ended() {
	p.alive = false
	p.pauses, p.conn = 0, nil
	why := p.why
	if why == "" {
		why = "exits"
	}
	p.cluster.emit("proc", p.name, "end", "", uint64(p.incarnation), why)
	for _, inf := range p.informers {
		inf.reflector.stop()
	}
	for _, s := range p.streams {
		s.stop()
	}
	p.informers, p.streams = nil, nil
	p.env.end()
	p.env = nil
	p.tell()
	if p.spec.Restart.Never || p.stopped || p.node.down {
		return
	}
	if p.eng.Elapsed()-p.started >= restartReset {
		p.ends = 0
	}
	p.ends++
	p.schedule(p.spec.Restart.after(p.ends))
	p.backingOff = p.ends > 1
}

// tell says that the process has started or ended.
func (p *Process) tell() {
	p.eng.Touch()
	if p.changed != nil {
		p.changed()
	}
}

// schedule starts the process after d.
func (p *Process) schedule(d time.Duration) {
	p.unschedule()
	p.hasPending = true
	p.pending = p.eng.After(d, startProcess, p)
}

func (p *Process) unschedule() {
	if p.hasPending {
		p.pending.Cancel()
		p.hasPending, p.backingOff = false, false
	}
}

// forgive starts a process soon that waits because faults have ended it so often.
func (p *Process) forgive() {
	p.ends = 0
	if p.backingOff {
		p.schedule(p.spec.Restart.after(0))
	}
}

func startProcess(arg any) {
	p := arg.(*Process)
	p.hasPending, p.backingOff = false, false
	if !p.stopped {
		p.Start()
	}
}

// stream returns a stream of choices that is used too rarely to be kept.
func (p *Process) stream(purpose string) *engine.Stream { return p.eng.Stream(purpose, p.name) }
