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
// run. Operations without a key, and those on a key that one task alone has used
// several times, commute with all others: they run first and do not dilute the
// search.
func POS() Strategy { return &pos{} }

type pos struct {
	rng prng
	contest
}

// contest tells operations that may conflict from those that commute with all others.
type contest struct {
	keys map[uint64]keyUse // by hash
}

func (x *contest) begin() { x.keys = map[uint64]keyUse{} }

// keyUse is what a run has shown so far about a key.
type keyUse struct {
	task   uint64 // serial of the first task seen
	times  uint8  // how often that task ran an operation on it
	shared bool   // another task uses it too
}

// private is how many operations of one task alone make a key its own. Until then
// it may be shared: an observer that comes once must not be run too early.
const private = 3

func (p *pos) Begin(seed uint64) {
	p.rng = prng(seed)
	p.begin()
}

// window bounds the work of a decision when very many tasks are ready at once.
const window = 64

// Next keeps the priority of a pending operation in the task's slot. Its lowest bits
// tell the key, since the operation changes when the task runs without contention.
func (p *pos) Next(c *Contention) int {
	const keyBits = 1<<16 - 1
	best, highest := 0, uint64(0)
	for i := range min(c.Len(), window) {
		slot, key := c.Slot(i), c.KeyHash(i)
		if *slot == 0 || (*slot^key)&keyBits != 0 {
			if !p.conflicts(key, c.Serial(i)) {
				return i
			}
			*slot = p.rng.next()&^keyBits | key&keyBits
		}
		if *slot >= highest {
			best, highest = i, *slot
		}
	}
	*c.Slot(best) = 0
	p.ran(c.KeyHash(best))
	return best
}

// ran notes that an operation on a key has run.
func (x *contest) ran(key uint64) {
	if use := x.keys[key]; !use.shared && use.times < private {
		use.times++
		x.keys[key] = use
	}
}

// conflicts reports whether an operation of a task on a key may not commute with
// those of others.
func (x *contest) conflicts(key, task uint64) bool {
	if key == 0 {
		return false
	}
	use, ok := x.keys[key]
	switch {
	case !ok:
		use.task = task
	case use.shared:
		return true
	case use.task != task:
		use.shared = true
	default:
		return use.times < private
	}
	x.keys[key] = use
	return true
}
