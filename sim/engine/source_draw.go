package engine

// NewDraw returns the source that asks a function for each answer: draw(label, n)
// returns a number in [0, n). It fits property-testing libraries, which shrink
// what they draw:
//
//	engine.NewDraw(func(label string, n uint64) uint64 {
//		return rapid.Uint64Range(0, n-1).Draw(t, label)
//	})
//
// The schedule is one draw, the seed of a [Strategy], where 0 stands for no
// preemption: such libraries do not shrink a draw per decision.
//
// If draw panics, as such libraries do to abandon a run, the run ends and Run
// panics with the same value; so does New, or a choice made outside Run. [Aborted]
// tells such a panic from others.
func NewDraw(draw func(label string, n uint64) uint64) Source {
	return &drawSource{draw: draw}
}

type drawSource struct {
	draw     func(label string, n uint64) uint64
	strategy Strategy // nil: no preemption
	thrown   any
}

func (d *drawSource) Begin() {
	d.thrown = nil
	d.strategy = nil
	if seed := d.ask("schedule", 1<<16); seed != 0 {
		d.strategy = mixture(seed)
		d.strategy.Begin(avalanche(seed))
	}
}

func (d *drawSource) Entropy() uint64 { return d.ask("entropy", 1<<16) }

func (d *drawSource) Stream(string) Chooser { return d }

// Choose implements Chooser.
func (d *drawSource) Choose(c Choice) uint64 {
	top := coarseness(c)
	return coarse(c, min(d.ask(c.Label, top+1), top), top)
}

// ask calls draw once, unless it has panicked before.
func (d *drawSource) ask(label string, n uint64) (x uint64) {
	if d.thrown != nil {
		return 0
	}
	defer func() {
		if r := recover(); r != nil {
			d.thrown, x = r, 0
		}
	}()
	return d.draw(label, n)
}

// aborted returns the value with which draw panicked, or nil.
func (d *drawSource) aborted() any { return d.thrown }

func (d *drawSource) Next(c *Contention) int {
	if d.strategy == nil {
		return c.Default()
	}
	return d.strategy.Next(c)
}
