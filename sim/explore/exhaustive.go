package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Exhaustive makes every history that differs from the simplest one in at most depth
// decisions. Decisions are:
//
//   - which task runs next, where several could that wait at operations on some key;
//   - whether a message is quick or takes the longest time that it may;
//   - whether a fault strikes, at each of its opportunities.
//
// Everything else, such as how long a fault lasts, is as simple as can be. Histories in
// which the same happens in the same order to each component and each object count as
// one, whatever the times: what follows from the second of them is not gone into again.
func Exhaustive(depth int, shard Shard) *ExhaustiveSearch {
	return &ExhaustiveSearch{depth: depth, shard: shard, known: map[uint64]bool{}}
}

// ExhaustiveSearch is the search of every history within a bound.
type ExhaustiveSearch struct {
	depth int
	shard Shard

	begun   bool
	parents []*branching // histories whose successors are to be made
	asked   []*history   // the runs of the latest Next
	known   map[uint64]bool
	made    int
	alike   int
}

// deviation is a decision that is not the simplest: the outcome of decision number at.
type deviation struct {
	at, outcome int
}

// history is a run as its deviations, and the decisions that it came to have.
type history struct {
	deviations []deviation
	options    []uint8 // of each decision
}

// branching is a history with its successors, as far as they have been made.
type branching struct {
	*history
	at, outcome int // of the next successor
}

func newBranching(h *history) *branching {
	b := &branching{history: h, outcome: 1}
	if n := len(h.deviations); n > 0 {
		b.at = h.deviations[n-1].at + 1
	}
	return b
}

// next returns the next successor, or nil.
func (b *branching) next() *history {
	for ; b.at < len(b.options); b.at, b.outcome = b.at+1, 1 {
		if b.outcome < int(b.options[b.at]) {
			d := deviation{b.at, b.outcome}
			b.outcome++
			return &history{deviations: append(slices.Clone(b.deviations), d)}
		}
	}
	return nil
}

// Next implements Search.
func (s *ExhaustiveSearch) Next(n int) []Run {
	s.asked = s.asked[:0]
	if !s.begun {
		s.begun = true
		s.asked = append(s.asked, &history{})
	}
	for len(s.asked) < n && len(s.parents) > 0 {
		h := s.parents[0].next()
		switch {
		case h == nil:
			s.parents = s.parents[1:]
		case s.shard.has(uint64(h.deviations[0].at)):
			s.asked = append(s.asked, h)
		}
	}
	runs := make([]Run, len(s.asked))
	for i, h := range s.asked {
		runs[i] = Run{Search: "exhaustive", Source: func() engine.Source { return &exhaustiveSource{history: h} }}
	}
	return runs
}

// Learn implements Search.
func (s *ExhaustiveSearch) Learn(seen []Seen) {
	for i := range seen {
		s.made++
		h := s.asked[i]
		order := seen[i].Coverage.Order()
		switch {
		case s.known[order]:
			s.alike++
		case len(h.deviations) < s.depth:
			s.parents = append(s.parents, newBranching(h))
		}
		s.known[order] = true
	}
}

// Covered implements Reporter.
func (s *ExhaustiveSearch) Covered() string {
	all := "all "
	if len(s.parents) > 0 || s.made == 0 {
		all = "not all, but "
	}
	part := ""
	if s.shard.Count > 1 {
		part = fmt.Sprintf(" of part %d of %d", s.shard.Index+1, s.shard.Count)
	}
	return fmt.Sprintf("exhaustive: %s%d histories%s up to depth %d (%d in another order than those before them)", all, s.made, part, s.depth, s.made-s.alike)
}

// exhaustiveSource makes the choices of one history and notes the decisions.
type exhaustiveSource struct {
	*history
	left []deviation
}

// Begin implements engine.Source.
func (s *exhaustiveSource) Begin() { s.left, s.options = s.deviations, s.options[:0] }

// Entropy implements engine.Source.
func (*exhaustiveSource) Entropy() uint64 { return 0 }

// Stream implements engine.Source.
func (s *exhaustiveSource) Stream(label string) engine.Chooser {
	for _, purpose := range []string{"fault/", "latency/", "watch-latency/"} {
		if strings.HasPrefix(label, purpose) {
			return s
		}
	}
	return simplest{}
}

// simplest always chooses what is simplest.
type simplest struct{}

func (simplest) Choose(engine.Choice) uint64 { return 0 }

// Choose implements engine.Chooser for faults and latencies.
func (s *exhaustiveSource) Choose(c engine.Choice) uint64 {
	if c.Shape == engine.Even && c.N > 2 { // how much of a fault, not whether
		return 0
	}
	if s.decide(2) == 1 {
		return c.N - 1
	}
	return 0
}

// mostTasks is how many tasks may be preferred to the one whose turn it is.
const mostTasks = 8

// Next implements engine.Source.
func (s *exhaustiveSource) Next(c *engine.Contention) int {
	turn := c.Default()
	var others [mostTasks]int
	n := 0
	for i := 0; i < c.Len() && n < mostTasks; i++ {
		if i != turn && c.KeyHash(i) != 0 {
			others[n] = i
			n++
		}
	}
	if n == 0 {
		return turn
	}
	if outcome := s.decide(n + 1); outcome > 0 {
		return others[outcome-1]
	}
	return turn
}

// decide makes the next decision.
func (s *exhaustiveSource) decide(options int) int {
	at := len(s.options)
	s.options = append(s.options, uint8(options))
	if len(s.left) > 0 && s.left[0].at == at {
		outcome := s.left[0].outcome
		s.left = s.left[1:]
		return min(outcome, options-1)
	}
	return 0
}
