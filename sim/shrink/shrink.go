package shrink

import (
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Budget bounds the search. The zero Budget has no bounds.
type Budget struct {
	// Runs is the largest number of calls of fails; 0: no limit.
	Runs int
	// Expired reports that the search must end, e.g. since its time is up; nil:
	// never. It is asked before each call of fails.
	Expired func() bool
}

// Result is what Shrink found.
type Result struct {
	// Schedule is the smallest schedule that failed.
	Schedule engine.Schedule
	// Runs counts the calls of fails.
	Runs int
	// Complete reports that no step of the search helps any more; else the
	// budget ran out.
	Complete bool
}

// Shrink looks for a small schedule that fails. bad must fail, and fails must say
// the same of the same schedule each time; a function that compares the error with
// that of bad keeps the search from finding another bug.
func Shrink(bad engine.Schedule, fails func(engine.Schedule) bool, b Budget) Result {
	s := &search{best: normal(bad), fails: fails, budget: b, tried: map[uint64]bool{}}
	for {
		before := fingerprint(s.best)
		for _, pass := range []func(){s.nothing, s.streams, s.tasks, s.parts, s.merge, s.shorten, s.values, s.entropy} {
			pass()
		}
		if s.spent || fingerprint(s.best) == before {
			return Result{Schedule: s.best, Runs: s.runs, Complete: !s.spent}
		}
	}
}

type search struct {
	best   engine.Schedule
	fails  func(engine.Schedule) bool
	budget Budget
	runs   int
	spent  bool
	tried  map[uint64]bool
}

// over reports that the budget ran out. It is asked before every candidate is
// made: with thousands of picks, making those that nobody tries takes longer than
// the budget.
func (s *search) over() bool {
	if s.budget.Runs > 0 && s.runs >= s.budget.Runs || s.budget.Expired != nil && s.budget.Expired() {
		s.spent = true
	}
	return s.spent
}

// try makes c the best schedule if it fails.
func (s *search) try(c engine.Schedule) bool {
	if s.over() {
		return false
	}
	c = normal(c)
	key := fingerprint(c)
	if s.tried[key] || key == fingerprint(s.best) {
		return false
	}
	s.tried[key] = true
	s.runs++
	if !s.fails(c) {
		return false
	}
	s.best = c
	return true
}

func (s *search) tryBlocks(blocks []engine.Block) bool {
	c := s.best
	c.Blocks = blocks
	return s.try(c)
}

func (s *search) tryPicks(picks []engine.Pick) bool {
	c := s.best
	c.Picks = picks
	return s.try(c)
}

// nothing tries the simplest runs there are.
func (s *search) nothing() {
	_ = s.try(engine.Schedule{Entropy: s.best.Entropy}) || s.tryPicks(nil) || s.tryBlocks(nil)
}

// streams takes away all picks of a kind, then of a stream.
func (s *search) streams() {
	for _, key := range []func(string) string{kind, func(label string) string { return label }} {
		reduce(groups(s.best.Picks, func(p engine.Pick) string { return key(p.Label) }), s.over, func(keep []string) bool {
			return s.tryPicks(only(s.best.Picks, func(p engine.Pick) bool {
				return slices.Contains(keep, key(p.Label))
			}))
		})
	}
}

// kind returns the part of a label that says what is chosen: "fault/drop" of
// "fault/drop/a>b", "delay" of "delay/node-1".
func kind(label string) string {
	parts := strings.SplitN(label, "/", 3)
	if parts[0] == "fault" && len(parts) > 1 {
		return "fault/" + parts[1]
	}
	return parts[0]
}

// tasks takes away all blocks of a process, then of a task.
func (s *search) tasks() {
	process := func(task string) string {
		name, _, _ := strings.Cut(task, "#")
		return name
	}
	for _, key := range []func(string) string{process, func(task string) string { return task }} {
		reduce(groups(s.best.Blocks, func(b engine.Block) string { return key(b.Task) }), s.over, func(keep []string) bool {
			return s.tryBlocks(only(s.best.Blocks, func(b engine.Block) bool {
				return slices.Contains(keep, key(b.Task))
			}))
		})
	}
}

// parts takes away stretches of picks, faults first, and of blocks.
func (s *search) parts() {
	isFault := func(p engine.Pick) bool { return strings.HasPrefix(p.Label, "fault/") }
	rest := only(s.best.Picks, func(p engine.Pick) bool { return !isFault(p) })
	faults := reduce(only(s.best.Picks, isFault), s.over, func(faults []engine.Pick) bool {
		return s.tryPicks(slices.Concat(faults, rest))
	})
	reduce(s.best.Blocks, s.over, s.tryBlocks)
	reduce(rest, s.over, func(rest []engine.Pick) bool { return s.tryPicks(slices.Concat(faults, rest)) })
}

// merge makes two blocks of a task one, at the place of the first or the second.
func (s *search) merge() {
	for i := 0; i < len(s.best.Blocks) && !s.over(); i++ {
		bs := s.best.Blocks
		j := i + 1
		for j < len(bs) && bs[j].Task != bs[i].Task {
			j++
		}
		if j == len(bs) {
			continue
		}
		both := engine.Block{Task: bs[i].Task, Steps: bs[i].Steps + bs[j].Steps}
		between := bs[i+1 : j]
		if s.tryBlocks(slices.Concat(bs[:i], []engine.Block{both}, between, bs[j+1:])) ||
			s.tryBlocks(slices.Concat(bs[:i], between, []engine.Block{both}, bs[j+1:])) {
			i-- // there may be a third
		}
	}
}

// shorten takes steps off each block.
func (s *search) shorten() {
	for i := 0; i < len(s.best.Blocks) && !s.over(); i++ {
		n := len(s.best.Blocks)
		descend(uint64(s.best.Blocks[i].Steps), 1, s.over, func(steps uint64) bool {
			if len(s.best.Blocks) != n {
				return false // neighbours became one block: the next round goes on
			}
			bs := slices.Clone(s.best.Blocks)
			bs[i].Steps = int(steps)
			return s.tryBlocks(bs)
		})
	}
}

// values makes the outcomes of picks smaller.
func (s *search) values() {
	for i := 0; i < len(s.best.Picks) && !s.over(); i++ {
		descend(s.best.Picks[i].Value, 1, s.over, func(v uint64) bool {
			ps := slices.Clone(s.best.Picks)
			ps[i].Value = v
			return s.tryPicks(ps)
		})
	}
}

// entropy tries the simplest random bytes.
func (s *search) entropy() {
	c := s.best
	c.Entropy = 0
	s.try(c)
}
