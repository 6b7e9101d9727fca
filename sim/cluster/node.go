package cluster

import (
	"time"

	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/sim/disk"
)

// Node is one machine: it has a disk, a clock and a place in the network, and
// processes run on it.
type Node struct {
	cluster   *Cluster
	name      string
	index     int
	disk      *disk.Disk
	down      bool
	boots     int           // after the first
	full      bool          // its disk
	silences  int           // how often it has gone silent or was heard again
	quiet     bool          // the control plane does not hear from it
	lost      bool          // and has noticed
	evicted   []*Process    // to end when it is heard again
	offset    time.Duration // of its wall clock
	drift     int64         // of its clocks, in parts per million
	processes []*Process
	instances []*Instance // on nodes; those of the control plane do not go down with it
	sockets   *kms.Sockets
}

// Name is "node-1", "node-2", …; the machine of the control plane is
// "control-plane".
func (n *Node) Name() string { return n.name }

// Processes returns the processes placed on the node, in the order in which
// they were added. The slice belongs to the node.
func (n *Node) Processes() []*Process { return n.processes }

// Down reports whether the node is down.
func (n *Node) Down() bool { return n.down }

// Disk is the node's disk. It survives crashes of processes; a crash of the node
// loses what was not synced.
func (n *Node) Disk() *disk.Disk {
	if n.disk == nil {
		n.disk = disk.New(n.cluster.eng, n.name, n.cluster.cfg.Disk)
		for _, f := range n.cluster.spoilt {
			f.spoil(n)
		}
	}
	return n.disk
}

// Sockets are the unix sockets of the machine on which KMS plugins listen. A crash of the
// node closes them; the end of a process does not, so whoever lets a plugin listen closes
// its socket when the plugin ends.
func (n *Node) Sockets() *kms.Sockets {
	if n.sockets == nil {
		n.sockets = kms.NewSockets(timers{n.cluster.eng})
	}
	return n.sockets
}

// Boots counts how often the node has come up again. What a fake keeps in the memory of a
// node is lost when the number has changed.
func (n *Node) Boots() int { return n.boots }

// Process adds a process to the node and starts it at the present time.
func (n *Node) Process(spec ProcessSpec) *Process {
	p := n.cluster.newProcess(n, spec)
	p.Start()
	return p
}

// Crash takes the node down with all its processes; its disk loses what was not
// synced.
func (n *Node) Crash() {
	if n.down {
		return
	}
	n.down = true
	n.cluster.emit("proc", n.name, "crash", "", 0, "the node goes down")
	for _, p := range n.processes {
		p.unschedule()
		p.crash("goes down with its node")
	}
	for _, i := range n.instances {
		i.halt()
	}
	if n.sockets != nil {
		n.sockets.CloseAll()
	}
	if n.disk != nil {
		n.disk.PowerLoss()
	}
	n.cluster.net.Host(n.name).SetUp(false)
	n.cluster.kubelet.listen(n)
}

// Start boots the node: all its processes start, without back-off.
func (n *Node) Start() {
	if !n.down {
		return
	}
	n.down = false
	n.boots++
	n.cluster.emit("proc", n.name, "boot", "", 0, "the node is up again")
	n.cluster.net.Host(n.name).SetUp(true)
	n.cluster.kubelet.booted(n)
	for _, i := range n.instances {
		i.resume()
	}
	for _, p := range n.processes {
		p.ends = 0
		if !p.stopped {
			p.schedule(p.spec.Restart.after(0))
		}
	}
}

// Restart crashes the node and boots it after d.
func (n *Node) Restart(d time.Duration) {
	n.Crash()
	n.cluster.eng.After(d, func(any) { n.Start() }, nil)
}

// SetClock makes the wall clock of the node wrong by offset, and all its clocks
// fast by drift parts per million from now on. Durations measured by sleeping are
// stretched by drift, not by offset.
func (n *Node) SetClock(offset time.Duration, drift int64) {
	n.offset, n.drift = offset, drift
	n.cluster.emit("fault", n.name, "clock", "", uint64(offset), "its wall clock is off by "+offset.String())
	for _, p := range n.processes {
		p.setClock()
	}
}

// setClock gives the process the clock of its node. What has added up by drift
// until now is gone, as if somebody had set the clock by hand.
func (p *Process) setClock() {
	drifted := p.proc.Now().Sub(p.eng.Now()) - p.offset
	p.offset = p.node.offset - drifted
	p.proc.SetClock(p.offset, p.node.drift)
}
