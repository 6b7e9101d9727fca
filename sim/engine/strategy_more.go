package engine

// AllPOS is [POS] over every pending operation, also those that commute with all
// others.
func AllPOS() Strategy { return &allPOS{} }

type allPOS struct{ rng prng }

func (p *allPOS) Begin(seed uint64) { p.rng = prng(seed) }

func (p *allPOS) Next(c *Contention) int {
	best := 0
	for i := range min(c.Len(), window) {
		if slot := c.Slot(i); *slot == 0 {
			*slot = p.rng.next() | 1
		}
		if *c.Slot(i) > *c.Slot(best) {
			best = i
		}
	}
	*c.Slot(best) = 0
	return best
}

// PCT runs the task with the highest priority; priorities are random, and at depth-1
// random decisions the task that is about to run falls to the bottom. A bug that needs
// depth ordering constraints is found in at least 1 of n·k^(depth-1) runs, of n tasks
// and k decisions. Decisions is k, taken from an earlier run.
func PCT(depth int, decisions uint64) Strategy { return &pct{depth: depth, decisions: decisions} }

type pct struct {
	depth     int
	decisions uint64

	rng     prng
	changes []uint64 // the decisions at which a task falls
	made    uint64
}

func (p *pct) Begin(seed uint64) {
	p.rng, p.made, p.changes = prng(seed), 0, p.changes[:0]
	for range p.depth - 1 {
		p.changes = append(p.changes, 1+p.rng.below(max(p.decisions, 1)))
	}
}

// Next keeps the priority of a task in its slot.
func (p *pct) Next(c *Contention) int {
	p.made++
	best := p.highest(c)
	for n, at := range p.changes {
		if at == p.made {
			*c.Slot(best) = uint64(n + 1)
			best = p.highest(c)
		}
	}
	return best
}

func (p *pct) highest(c *Contention) int {
	best := 0
	for i := range min(c.Len(), window) {
		if slot := c.Slot(i); *slot == 0 {
			*slot = p.rng.next() | 1<<63
		}
		if *c.Slot(i) > *c.Slot(best) {
			best = i
		}
	}
	return best
}

// OnConflicts restricts a strategy to operations that may conflict: operations without
// a key, and those on a key that one task alone has used several times, commute with
// all others and run first; the strategy decides among the rest.
func OnConflicts(s Strategy) Strategy { return &onConflicts{inner: s} }

type onConflicts struct {
	inner Strategy
	contest
}

func (o *onConflicts) Begin(seed uint64) {
	o.begin()
	o.inner.Begin(seed)
}

func (o *onConflicts) Next(c *Contention) int {
	for i := range min(c.Len(), window) {
		if !o.conflicts(c.KeyHash(i), c.Serial(i)) {
			return i
		}
	}
	i := o.inner.Next(c)
	o.ran(c.KeyHash(i))
	return i
}
