package engine

// Strategy decides which of several ready tasks runs. It is the part of a random
// source that looks for bad interleavings.
type Strategy interface {
	// Begin makes the strategy ready for a run.
	Begin(seed uint64)
	// Next returns an index below c.Len(), which is at least 2.
	Next(c *Contention) int
}

// mixture spreads seeds over the strategies, because each is blind to some bugs:
// uniform misses distant windows, the others dilute or favour.
func mixture(r uint64) Strategy {
	switch r % 4 {
	case 0:
		return Uniform()
	case 1:
		return Sticky()
	default:
		return POS()
	}
}

// Uniform picks every ready task with the same probability.
func Uniform() Strategy { return &uniform{} }

type uniform struct{ rng prng }

func (u *uniform) Begin(seed uint64) { u.rng = prng(seed) }

func (u *uniform) Next(c *Contention) int { return int(u.rng.below(uint64(c.Len()))) }

// Sticky stays with the task that ran last in nine of ten decisions, so that
// tasks run for long stretches.
func Sticky() Strategy { return &sticky{} }

type sticky struct{ rng prng }

func (s *sticky) Begin(seed uint64) { s.rng = prng(seed) }

func (s *sticky) Next(c *Contention) int {
	if last := c.Last(); last >= 0 && s.rng.below(10) != 0 {
		return last
	}
	return int(s.rng.below(uint64(c.Len())))
}

// POS is partial-order sampling on conflicting operations: every pending operation
// has a random priority and the highest runs; a task gets a new one when it has
// run. Only operations on keys that two or more tasks have used count. Others
// commute, so they run first and do not dilute the search.
func POS() Strategy { return &pos{} }

type pos struct {
	rng  prng
	keys map[string]uint64 // serial of the only task seen at a key; 0: several
}

func (p *pos) Begin(seed uint64) {
	p.rng = prng(seed)
	p.keys = map[string]uint64{}
}

// window bounds the work of a decision when very many tasks are ready at once.
const window = 64

func (p *pos) Next(c *Contention) int {
	best, bestPriority := 0, uint64(0)
	for i := range min(c.Len(), window) {
		slot := c.Slot(i)
		if *slot == 0 {
			*slot = p.rng.next() | 1
		}
		if !p.conflicts(c.Op(i), c.Serial(i)) {
			return i
		}
		if *slot > bestPriority {
			best, bestPriority = i, *slot
		}
	}
	*c.Slot(best) = 0
	return best
}

func (p *pos) conflicts(op Op, task uint64) bool {
	if op.Key == "" {
		return false
	}
	seen, ok := p.keys[op.Key]
	switch {
	case !ok:
		p.keys[op.Key] = task
		return false
	case seen == 0:
		return true
	case seen == task:
		return false
	}
	p.keys[op.Key] = 0
	return true
}
