package shrink

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// noisy is a schedule with much that does not matter.
func noisy() engine.Schedule {
	s := engine.Schedule{Entropy: 99}
	for i := range uint64(40) {
		s.Picks = append(s.Picks,
			engine.Pick{Label: "delay/node-1", Nth: i, Value: 1000 * (i + 1)},
			engine.Pick{Label: "fault/drop/a>b", Nth: i, Value: 1},
			engine.Pick{Label: "fault/drop/b>a", Nth: i, Value: 1},
			engine.Pick{Label: "fault/crash/node-1", Nth: i, Value: 1})
		s.Blocks = append(s.Blocks,
			engine.Block{Task: "a#1/main.1", Steps: 10},
			engine.Block{Task: "b#1/main.1", Steps: 10},
			engine.Block{Task: "b#1/worker.1", Steps: 10})
	}
	return s
}

func has(s engine.Schedule, label string, nth, value uint64) bool {
	return slices.ContainsFunc(s.Picks, func(p engine.Pick) bool {
		return p.Label == label && p.Nth == nth && p.Value >= value
	})
}

func steps(s engine.Schedule, task string) (n int) {
	for _, b := range s.Blocks {
		if b.Task == task {
			n += b.Steps
		}
	}
	return n
}

// What is left of the noisy schedule, for bugs that need different parts of it.
func TestShrink(t *testing.T) {
	table := map[string]struct {
		fails    func(s engine.Schedule) bool
		want     engine.Schedule
		runsMost int
	}{
		"fails whatever happens": {
			fails:    func(engine.Schedule) bool { return true },
			runsMost: 2,
		},
		"needs one fault": {
			fails:    func(s engine.Schedule) bool { return has(s, "fault/drop/b>a", 17, 1) },
			want:     engine.Schedule{Picks: []engine.Pick{{Label: "fault/drop/b>a", Nth: 17, Value: 1}}},
			runsMost: 25,
		},
		"needs a crash and a delay of at least 5 us": {
			fails: func(s engine.Schedule) bool {
				return has(s, "fault/crash/node-1", 3, 1) && has(s, "delay/node-1", 30, 5000)
			},
			want: engine.Schedule{Picks: []engine.Pick{
				{Label: "fault/crash/node-1", Nth: 3, Value: 1}, {Label: "delay/node-1", Nth: 30, Value: 5000},
			}},
			runsMost: 80,
		},
		"needs 25 steps of one task and some of another": {
			fails: func(s engine.Schedule) bool { return steps(s, "b#1/worker.1") >= 25 && steps(s, "a#1/main.1") > 0 },
			want: engine.Schedule{Blocks: []engine.Block{
				{Task: "b#1/worker.1", Steps: 25}, {Task: "a#1/main.1", Steps: 1},
			}},
			runsMost: 90,
		},
		"needs its random bytes": {
			fails:    func(s engine.Schedule) bool { return s.Entropy == 99 },
			want:     engine.Schedule{Entropy: 99},
			runsMost: 2,
		},
	}
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			got := Shrink(noisy(), row.fails, Budget{})
			if d := cmp.Diff(row.want, got.Schedule); d != "" {
				t.Error(d)
			}
			if !got.Complete || got.Runs > row.runsMost {
				t.Errorf("complete %v after %d runs", got.Complete, got.Runs)
			}
		})
	}
}

// No schedule is run twice, and every one that is kept fails.
func TestShrinkDoesNotRepeatItself(t *testing.T) {
	seen := map[uint64]bool{}
	Shrink(noisy(), func(s engine.Schedule) bool {
		key := fingerprint(s)
		if seen[key] {
			t.Errorf("twice: %v", s)
		}
		seen[key] = true
		return len(s.Picks)%3 == 1 && len(s.Blocks)%2 == 0
	}, Budget{})
}

func TestBudget(t *testing.T) {
	fails := func(s engine.Schedule) bool { return steps(s, "a#1/main.1") >= 200 }
	whole := Shrink(noisy(), fails, Budget{})
	got := Shrink(noisy(), fails, Budget{Runs: 5})
	if got.Runs != 5 || got.Complete || !fails(got.Schedule) {
		t.Errorf("%d runs, complete %v", got.Runs, got.Complete)
	}
	runs := 0
	counted := func(s engine.Schedule) bool { runs++; return fails(s) }
	got = Shrink(noisy(), counted, Budget{Expired: func() bool { return runs >= 7 }})
	if got.Runs != 7 || got.Complete || !fails(got.Schedule) {
		t.Errorf("%d runs, complete %v", got.Runs, got.Complete)
	}
	if got := Shrink(whole.Schedule, fails, Budget{}); !cmp.Equal(got.Schedule, whole.Schedule) {
		t.Errorf("a minimum shrinks further: %v", got.Schedule)
	}
}

// Blocks without steps and picks without value say nothing and are dropped.
func TestNormal(t *testing.T) {
	s := normal(engine.Schedule{
		Blocks: []engine.Block{{Task: "a", Steps: 1}, {Task: "b"}, {Task: "a", Steps: 2}, {Task: "b", Steps: 1}},
		Picks:  []engine.Pick{{Label: "x"}, {Label: "y", Value: 1}},
	})
	want := engine.Schedule{
		Blocks: []engine.Block{{Task: "a", Steps: 3}, {Task: "b", Steps: 1}},
		Picks:  []engine.Pick{{Label: "y", Value: 1}},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
}

// A spent budget ends the search at once, however long the schedule is: the
// candidates that nobody will try must not be made either.
func TestSpentBudgetEndsLongSearches(t *testing.T) {
	long := engine.Schedule{}
	for i := range uint64(100_000) {
		long.Picks = append(long.Picks, engine.Pick{Label: "delay/node-1", Nth: i, Value: 1 << 60})
		long.Blocks = append(long.Blocks, engine.Block{Task: "a#1/main.1", Steps: 1 << 40}, engine.Block{Task: "b#1/main.1", Steps: 1 << 40})
	}
	runs := 0
	got := Shrink(long, func(engine.Schedule) bool { runs++; return false }, Budget{Runs: 10})
	if runs != 10 || got.Runs != 10 || got.Complete {
		t.Errorf("%d runs, reported as %d, complete %v", runs, got.Runs, got.Complete)
	}
}
