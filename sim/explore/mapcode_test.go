package explore

import (
	"math"
	"testing"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// seenBy is a map of some states, and an edge.
func seenBy(from, to uint64) *Map {
	m := NewMap()
	for i := from; i < to; i++ {
		m.states[engine.Mix(i, 7)] = struct{}{}
	}
	m.edges[from%uint64(len(m.edges))] |= 1 << (from % 64)
	return m
}

// sent is what becomes of a map that is sent.
func sent(t *testing.T, m *Map) *Map {
	t.Helper()
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	got := &Map{}
	if err := got.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestMergedMaps have seen what each has seen, and what several have seen once.
func TestMergedMaps(t *testing.T) {
	sum := NewMap()
	for _, part := range []*Map{seenBy(0, 3000), seenBy(2000, 5000), seenBy(0, 10)} {
		sum.Merge(sent(t, part))
	}
	if sum.States() != 5000 || sum.Edges() != 2 {
		t.Errorf("%d states and %d edges", sum.States(), sum.Edges())
	}
}

// TestManyStates are told by a part of them, to about a percent, whichever way they are
// merged.
func TestManyStates(t *testing.T) {
	const all = 300_000
	whole := sent(t, seenBy(0, all))
	merged := sent(t, seenBy(0, 40_000))
	merged.Merge(sent(t, seenBy(30_000, all)))
	merged.Merge(sent(t, seenBy(5, 10)))
	for _, m := range []*Map{whole, merged, sent(t, merged)} {
		if off := math.Abs(float64(m.States())-all) / all; off > 0.02 {
			t.Errorf("%d states of %d, %.1f %% off", m.States(), all, 100*off)
		}
	}
	if data, _ := whole.MarshalBinary(); len(data) > 300<<10 {
		t.Errorf("%d bytes", len(data))
	}
}

func TestWhatIsNoMap(t *testing.T) {
	for _, data := range [][]byte{nil, make([]byte, 16), make([]byte, 8195)} {
		if err := new(Map).UnmarshalBinary(data); err == nil {
			t.Errorf("%d bytes are read", len(data))
		}
	}
}
