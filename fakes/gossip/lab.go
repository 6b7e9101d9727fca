package gossip

import (
	"math/bits"
	"time"
)

// Lab is a small world for a [Cluster]: a virtual clock, a seeded generator per
// node and a network of simple links. It is all a unit test needs; a simulator
// brings its own Env instead.
//
// Events of one instant happen in the order of node, then of scheduling. The
// same seed and the same calls give the same run.
type Lab struct {
	Cluster *Cluster
	Links   Links

	// Events are what the cluster emitted, unless KeepNone is set.
	Events   []LabEvent
	KeepNone bool
	// OnEvent, if set, sees each event as it is emitted.
	OnEvent func(LabEvent)

	// Tap, if set, sees every envelope that is sent, before the network decides
	// about it. It may keep it: envelopes are immutable.
	Tap func(*Envelope)
	// Fail, if set, may make a Send fail, as a transport may.
	Fail func(*Envelope) error

	// Steps counts the events and timers handled so far.
	Steps uint64

	queue    labQueue
	seed     uint64
	nodes    []labRand // by NodeID
	network  labRand
	delivery func(any)
}

// LabEvent is an [Event] and when it happened.
type LabEvent struct {
	At time.Duration
	Event
}

// NewLab makes a world in which nothing has happened yet.
func NewLab(seed uint64) *Lab {
	l := &Lab{seed: seed, network: newLabRand(seed, ^uint64(0)), Links: Links{Delay: time.Millisecond}}
	l.Cluster = NewCluster(l)
	l.delivery = func(a any) { l.Cluster.Deliver(a.(*Envelope)) }
	return l
}

// Run lets d of virtual time pass.
func (l *Lab) Run(d time.Duration) {
	end := l.queue.now + d
	for l.queue.step(end) {
		l.Steps++
	}
	l.queue.now = end
}

// RunUntil lets time pass until ok, for at most d. It reports whether ok came
// true, looking at it after every event.
func (l *Lab) RunUntil(d time.Duration, ok func() bool) bool {
	end := l.queue.now + d
	for !ok() {
		if !l.queue.step(end) {
			l.queue.now = end
			return ok()
		}
		l.Steps++
	}
	return true
}

// At calls fn at a virtual time not before now.
func (l *Lab) At(at time.Duration, fn func()) {
	l.queue.push(max(at, l.queue.now), Nobody, func(any) { fn() }, nil)
}

// Now implements [Env].
func (l *Lab) Now() time.Duration { return l.queue.now }

// After implements [Env].
func (l *Lab) After(node NodeID, d time.Duration, fn func(any), arg any) Timer {
	return l.queue.push(l.queue.now+max(d, 0), node, fn, arg)
}

// Intn implements [Env].
func (l *Lab) Intn(node NodeID, n int) int {
	for int(node) >= len(l.nodes) {
		l.nodes = append(l.nodes, newLabRand(l.seed, uint64(len(l.nodes))))
	}
	return l.nodes[node].intn(n)
}

// Emit implements [Env].
func (l *Lab) Emit(ev Event) {
	if l.KeepNone && l.OnEvent == nil {
		return
	}
	le := LabEvent{l.queue.now, ev}
	if !l.KeepNone {
		l.Events = append(l.Events, le)
	}
	if l.OnEvent != nil {
		l.OnEvent(le)
	}
}

// Send implements [Env].
func (l *Lab) Send(e *Envelope) error {
	if l.Tap != nil {
		l.Tap(e)
	}
	if l.Fail != nil {
		if err := l.Fail(e); err != nil {
			return err
		}
	}
	if l.Links.cut(e.From, e.To) {
		return nil
	}
	copies := 1
	if !e.Stream {
		if l.network.hit(l.Links.Loss) {
			return nil
		}
		if l.network.hit(l.Links.Duplicate) {
			copies = 2
		}
	}
	for range copies {
		delay := l.Links.Delay
		if l.Links.Jitter > 0 && !e.Stream {
			delay += time.Duration(l.network.intn(int(l.Links.Jitter)))
		}
		l.queue.push(l.queue.now+delay, l.Cluster.Owner(e.To), l.delivery, e)
	}
	return nil
}

// labRand is a splitmix64 generator.
type labRand struct{ state uint64 }

func newLabRand(seed, stream uint64) labRand {
	r := labRand{seed}
	r.state = r.next() ^ (stream * 0xd1342543de82ef95)
	r.next()
	return r
}

func (r *labRand) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (r *labRand) intn(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// hit is true with the given probability in parts per million.
func (r *labRand) hit(ppm uint32) bool {
	return ppm > 0 && r.intn(1_000_000) < int(ppm)
}
