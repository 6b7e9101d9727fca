package home

import "github.com/seedbed-sim/seedbed/scenarios"

// breaks notes that an observer saw a promise broken. The property of this name
// fails at the next look, which is within the same step.
func (s *State) breaks(property string, err error) {
	if s.breaches[property] == nil {
		s.breaches[property] = err
	}
	s.world.Engine().Touch()
}

// observed is a property whose observers call breaks.
func observed(name, meaning string) scenarios.Property {
	return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) scenarios.Check {
		return scenarios.Check{Always: func() error { return s.breaches[name] }}
	})
}
