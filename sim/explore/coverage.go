package explore

import (
	"math/bits"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Near is the kind of events that tell of near misses.
const Near = "near"

// edgeBits is the size of the table of edges, as a power of two. Two edges may share a
// place; then the second is not seen as new.
const edgeBits = 16

type edges [1 << (edgeBits - 6)]uint64

// Coverage is what one run has shown. Three signals are taken from its events:
//
//   - An edge is what a component did or suffered after what it did before: an API
//     call on a kind of object and its outcome, an event of a watch, a fault.
//   - A near miss is an event of the kind "near": something that a property demands came
//     late, in eighths of the time that it has. It counts as an edge.
//   - A state is who wrote each object last and how, what each cache has seen last, and
//     which processes are up.
//
// Neither looks into objects, so that taking them costs little.
type Coverage struct {
	edges  edges
	states []uint64

	state  uint64
	last   map[string]uint64 // the latest operation of each component
	things map[uint64]uint64 // what the state is made of
	order  map[uint64]uint64 // what has happened before the latest to each component and object
}

// NewCoverage returns an empty one.
func NewCoverage() *Coverage {
	return &Coverage{last: map[string]uint64{}, things: map[uint64]uint64{}}
}

// Ordered lets the coverage tell runs apart by the order of what happens; see Order.
func (c *Coverage) Ordered() *Coverage {
	c.order = map[uint64]uint64{}
	return c
}

// Order is a hash of what has happened, in which order, to each component and to each
// object; not of times, nor of the order between components that have nothing to do with
// each other. It needs Ordered.
func (c *Coverage) Order() uint64 {
	sum := uint64(0)
	for thing, past := range c.order { // a sum: the order does not show
		sum += engine.Mix(thing, past)
	}
	return sum
}

// happens notes that a component has to do with an object.
func (c *Coverage) happens(actor, object, op uint64) {
	past := engine.Mix(engine.Mix(c.order[actor], op), c.order[object])
	c.order[actor] = past
	c.order[object] = engine.Mix(past, object)
}

// Observe takes in one event of the run; it is an observer of package engine.
func (c *Coverage) Observe(ev engine.Event) {
	op := engine.Hash(ev.Kind)
	verb := engine.Hash(ev.Verb)
	op = engine.Mix(op, verb)
	if c.order != nil {
		n := ev.N
		if ev.Kind != "api" { // a revision, or a time
			n = 0
		}
		c.happens(engine.Hash(ev.Actor), engine.Hash(ev.Object), engine.Mix(op, n))
	}
	switch ev.Kind {
	case "story", "prop", "sys":
		return
	case "api":
		kind, _, _ := strings.Cut(ev.Object, "/")
		op = engine.Mix(engine.Mix(op, engine.Hash(kind)), ev.N)
		if ev.N == 200 && writes(ev.Verb) {
			c.become(engine.Hash(ev.Object), engine.Mix(verb, engine.Hash(ev.Actor)))
		}
	case Near:
		op = engine.Mix(op, ev.N)
	case "watch":
		c.become(engine.Mix(engine.Hash(ev.Actor), engine.Hash(ev.Object)), verb)
	case "proc":
		c.become(engine.Hash(ev.Actor), verb)
	}
	edge := engine.Mix(engine.Mix(engine.Hash(ev.Actor), c.last[ev.Actor]), op)
	c.last[ev.Actor] = op
	place := edge >> (64 - edgeBits)
	c.edges[place/64] |= 1 << (place % 64)
}

// become notes that a thing is in another condition.
func (c *Coverage) become(thing, now uint64) {
	now = engine.Mix(thing, now)
	before := c.things[thing]
	if before == now {
		return
	}
	c.things[thing] = now
	c.state ^= before ^ now
	c.states = append(c.states, c.state)
}

// writes reports whether a verb of the trace changes an object.
func writes(verb string) bool {
	switch verb {
	case "get", "list", "watch", "error", "retry":
		return false
	}
	return true
}

// Map is what many runs have shown.
type Map struct {
	edges  edges
	states map[uint64]struct{}

	// below, if not zero, is the hash from which on states were left out.
	below uint64
}

// NewMap returns an empty one.
func NewMap() *Map { return &Map{states: map[uint64]struct{}{}} }

// Add takes in what one run has shown, and returns how much of it is new.
func (m *Map) Add(c *Coverage) (newEdges, newStates int) {
	for i, word := range c.edges {
		newEdges += bits.OnesCount64(word &^ m.edges[i])
		m.edges[i] |= word
	}
	before := len(m.states)
	for _, s := range c.states {
		m.states[s] = struct{}{}
	}
	return newEdges, len(m.states) - before
}

// Edges is how many places of the table of edges are taken.
func (m *Map) Edges() int {
	n := 0
	for _, word := range m.edges {
		n += bits.OnesCount64(word)
	}
	return n
}
