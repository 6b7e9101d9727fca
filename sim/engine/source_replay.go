package engine

import "slices"

// NewReplay returns the source that repeats a recorded run. Of a schedule that
// was edited it repeats what it can: a choice without a pick has outcome 0; a
// decision goes to the ready task that comes first in what is left of the blocks,
// or, if no ready task is mentioned there, to [Contention.Default].
func NewReplay(s Schedule) Source { return &replaySource{schedule: s} }

type replaySource struct {
	schedule Schedule
	picks    map[string][]Pick
	left     int // picks not used yet
	queues   map[string]int
	tasks    []replayTask
	head     int // first block not used up
	diverged bool
}

// replayTask is what the schedule says about one task.
type replayTask struct {
	blocks []int // indices into Schedule.Blocks
	steps  int   // left in blocks[0]
}

func (r *replaySource) Begin() {
	*r = replaySource{schedule: r.schedule, picks: map[string][]Pick{}, queues: map[string]int{}}
	for _, p := range r.schedule.Picks {
		if p.Value != 0 {
			r.picks[p.Label] = append(r.picks[p.Label], p)
			r.left++
		}
	}
	for _, ps := range r.picks {
		slices.SortStableFunc(ps, func(a, b Pick) int {
			if a.Nth < b.Nth {
				return -1
			}
			if a.Nth > b.Nth {
				return 1
			}
			return 0
		})
	}
	for i, b := range r.schedule.Blocks {
		if b.Steps <= 0 {
			continue
		}
		q, ok := r.queues[b.Task]
		if !ok {
			q = len(r.tasks)
			r.queues[b.Task] = q
			r.tasks = append(r.tasks, replayTask{steps: b.Steps})
		}
		r.tasks[q].blocks = append(r.tasks[q].blocks, i)
	}
}

func (r *replaySource) Entropy() uint64 { return r.schedule.Entropy }

func (r *replaySource) Stream(label string) Chooser {
	return &replayStream{r: r, picks: r.picks[label]}
}

type replayStream struct {
	r     *replaySource
	picks []Pick
}

func (s *replayStream) Choose(c Choice) uint64 {
	for len(s.picks) > 0 && s.picks[0].Nth < c.Nth {
		s.picks = s.picks[1:] // a duplicate
	}
	if len(s.picks) == 0 || s.picks[0].Nth != c.Nth {
		return 0
	}
	v := s.picks[0].Value
	s.picks = s.picks[1:]
	s.r.left--
	if v >= c.N {
		s.r.diverged = true
		v = c.N - 1
	}
	return v
}

// unknown marks in a task's slot that the schedule does not mention it.
const unknown = 1<<64 - 1

func (r *replaySource) Next(c *Contention) int {
	best, bestBlock := -1, len(r.schedule.Blocks)
	for i := range c.Len() {
		slot := c.Slot(i)
		if *slot == 0 {
			*slot = unknown
			if q, ok := r.queues[c.Task(i)]; ok {
				*slot = uint64(q) + 1
			}
		}
		if *slot == unknown {
			continue
		}
		if t := &r.tasks[*slot-1]; len(t.blocks) > 0 && t.blocks[0] < bestBlock {
			best, bestBlock = i, t.blocks[0]
		}
	}
	if best < 0 {
		r.diverged = r.diverged || r.skipped(len(r.schedule.Blocks))
		return c.Default()
	}
	if bestBlock != r.head {
		r.diverged = r.diverged || r.skipped(bestBlock)
	}
	t := &r.tasks[*c.Slot(best)-1]
	if t.steps--; t.steps == 0 {
		r.head = max(r.head, bestBlock+1)
		t.blocks = t.blocks[1:]
		if len(t.blocks) > 0 {
			t.steps = r.schedule.Blocks[t.blocks[0]].Steps
		}
	}
	return best
}

// skipped reports whether a block before this one was left unused.
func (r *replaySource) skipped(block int) bool {
	for _, b := range r.schedule.Blocks[min(r.head, block):block] {
		if b.Steps > 0 {
			return true
		}
	}
	return block < r.head
}

// Diverged reports whether the schedule did not fit the run.
func (r *replaySource) Diverged() bool {
	if r.diverged || r.left > 0 {
		return true
	}
	for _, t := range r.tasks {
		if len(t.blocks) > 0 {
			return true
		}
	}
	return false
}
