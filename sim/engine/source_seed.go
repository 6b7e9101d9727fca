package engine

// NewSeed returns the source that draws everything from a seed. Each stream has
// a generator of its own, made from the seed and the stream's label. The seed
// also decides how tasks are scheduled; see [Strategy].
func NewSeed(seed uint64) Source { return &seedSource{seed: seed} }

// NewSeedWith is NewSeed with a scheduling strategy of the caller's.
func NewSeedWith(seed uint64, s Strategy) Source { return &seedSource{seed: seed, fixed: s} }

type seedSource struct {
	seed  uint64
	fixed Strategy

	strategy Strategy
}

func (s *seedSource) Begin() {
	r := derive(s.seed, "schedule")
	s.strategy = s.fixed
	if s.strategy == nil {
		s.strategy = mixture(r.next())
	}
	s.strategy.Begin(r.next())
}

func (s *seedSource) Entropy() uint64 {
	r := derive(s.seed, "entropy")
	return r.next()
}

func (s *seedSource) Stream(label string) Chooser {
	r := derive(s.seed, label)
	return &r
}

func (s *seedSource) Next(c *Contention) int { return s.strategy.Next(c) }

// Choose implements Chooser.
func (p *prng) Choose(c Choice) uint64 { return c.Outcome(p.next()) }
