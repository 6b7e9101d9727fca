package encryption

import (
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// counts are what views and properties count.
type counts struct {
	userErrors int
	leaders    int // leaderships that began
}

// breaks notes that an observer saw a promise broken. The property of this name
// fails at the next look, which is within the same step.
func (s *State) breaks(property string, err error) {
	if s.breaches[property] == nil {
		s.breaches[property] = err
	}
	s.changed()
}

// changed says that something a property may look at has changed.
func (s *State) changed() { s.world.Engine().Touch() }

// observedProperty is a property whose observer calls breaks.
func observedProperty(name, meaning string) scenarios.Property {
	return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) scenarios.Check {
		return scenarios.Check{Always: func() error { return s.breaches[name] }}
	})
}

func always(name, meaning string, look func(*State) error) scenarios.Property {
	return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) scenarios.Check {
		return scenarios.Check{Always: func() error {
			if err := s.breaches[name]; err != nil {
				return err
			}
			s.look()
			return look(s)
		}}
	})
}

func eventually(name, meaning string, within time.Duration, look func(*State) error) scenarios.Property {
	return scenarios.NewProperty(name, meaning, func(_ *scenarios.World, s *State) scenarios.Check {
		return scenarios.Check{Eventually: func() error { return look(s) }, Within: within}
	})
}
