package conformance

import (
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

// script is one story, run on both arms.
type script struct {
	name string
	spec string // what the specification says about it, in few words
	run  func(s *stage) measures
}

// measures are what a run yields. A duration may be never. All runs of a script
// yield the same names.
type measures struct {
	flags map[string]bool
	times map[string]time.Duration
	lists map[string]string // who lists whom
}

// stage is what a script plays on: an arm, a source of variety, and the run's
// timeline.
type stage struct {
	arm
	rng    dice
	set    settings // of the nodes started by form
	nodes  []int
	zero   time.Duration // when the interesting part begins
	agenda []act
}

// act is something a script does at a time counted from zero.
type act struct {
	at time.Duration
	do func()
}

// dice varies a script from run to run: when nodes start, in which order they
// change. It is the same for run i of both arms.
type dice uint64

// diceOf makes the dice of run i.
func diceOf(i int) dice { return dice(uint64(i+1) * 0x9e3779b97f4a7c15) }

func (d *dice) intn(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return int((z ^ (z >> 31)) % uint64(n))
}

// upTo picks a duration below the limit, in milliseconds.
func (d *dice) upTo(limit time.Duration) time.Duration {
	return time.Duration(d.intn(int(limit/time.Millisecond))) * time.Millisecond
}

// form starts n nodes, each joining all earlier ones, and lets them settle. What
// follows begins at a moment that has nothing to do with any node's ticks. On
// them, the library under a clock that stands still is another one than in life:
// a failed probe round, which takes whole intervals, and the gossip tick fall
// into one instant there, and the scheduler decides which comes first. In life
// the round ends a moment later, and so it does in the model.
func (s *stage) form(n int, set settings) {
	s.set = set
	for i := range n {
		s.sleep(s.rng.upTo(time.Second))
		s.start(i, set)
		s.nodes = append(s.nodes, i)
		s.join(i, s.nodes[:i]...)
	}
	s.sleep(time.Minute + s.rng.upTo(time.Second) + delay/2)
	s.zero = s.now()
}

// at puts something on the agenda.
func (s *stage) at(t time.Duration, do func()) { s.agenda = append(s.agenda, act{t, do}) }

// play runs the agenda and then waits until the given time.
func (s *stage) play(until time.Duration) {
	slices.SortStableFunc(s.agenda, func(a, b act) int { return int(a.at - b.at) })
	for _, a := range s.agenda {
		if a.at > until {
			break
		}
		s.until(a.at)
		a.do()
	}
	s.until(until)
}

func (s *stage) until(t time.Duration) {
	if d := s.zero + t - s.now(); d > 0 {
		s.sleep(d)
	}
}

// others are all nodes but one.
func (s *stage) others(node int) []int {
	return slices.DeleteFunc(slices.Clone(s.nodes), func(n int) bool { return n == node })
}

// hardSwap makes a ring hold one key only, as the upstream agent does.
func (s *stage) hardSwap(node int, to []byte) { s.apply(node, to) }

// apply installs a key list on a live ring.
func (s *stage) apply(node int, keys ...[]byte) {
	want := make(gossipkeys.Keys, len(keys))
	for i, k := range keys {
		want[i], _ = gossipkeys.NewKey(k) // the scripts' keys have a valid length
	}
	if err := gossipkeys.ApplyKeys(s.ring(node), want); err != nil {
		panic(err)
	}
}

// rejoining puts the agents' periodic rejoin on the agenda: every minute, at a
// phase of each node's own.
func (s *stage) rejoining(until time.Duration) {
	for _, n := range s.nodes {
		for t := s.rng.upTo(time.Minute); t < until; t += time.Minute {
			s.at(t, func() { s.rejoin(n) })
		}
	}
}

// rejoin makes a node join everybody it does not list; for simplicity it joins
// all, which changes nothing about those it does list.
func (s *stage) rejoin(node int) { s.join(node, s.others(node)...) }

// rel is a time of the record counted from zero, or never.
func (s *stage) rel(t time.Duration, ok bool) time.Duration {
	if !ok {
		return never
	}
	return t - s.zero
}

// firstLeave is the time of the first leave event from zero on that passes.
func (s *stage) firstLeave(r *record, ok func(change) bool) time.Duration {
	for _, c := range r.leaves(s.zero, 1<<62) {
		if ok(c) {
			return s.rel(c.at, true)
		}
	}
	return never
}

// goneEverywhere is when the last of the observers stopped listing a node, for
// the first time each; never if one always did.
func (s *stage) goneEverywhere(r *record, observers []int, node int) time.Duration {
	last := never
	for _, o := range observers {
		t := s.firstLeave(r, func(c change) bool { return c.node == o && c.peer == node })
		if t == never {
			return never
		}
		last = max(last, t)
	}
	return last
}

func anybody(change) bool { return true }
