package cloak

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/hostile"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// HostileArgs say for how long the world is hostile.
type HostileArgs struct {
	For   scenarios.Duration `yaml:"for" form:"required,short" doc:"How long."`
	Every scenarios.Span     `yaml:"every" doc:"The time between two things that go wrong; 1s..1m by default."`
	Only  []string           `yaml:"only" doc:"The things that go wrong, if not all."`
}

// hostility is what harms work on. Each has a node and a workload to be done to.
type hostility struct {
	*State
	draw  *engine.Stream
	node  *node
	work  *work
	until time.Duration // when the last harm ends that ends by itself
}

// between draws a duration.
func (h *hostility) between(low, high time.Duration) time.Duration {
	return h.draw.Duration(engine.Dist{Min: low, Max: high})
}

// oneIn draws whether something happens that does once in n times.
func (h *hostility) oneIn(n int) bool { return h.draw.Intn(n) == n-1 }

func pick[T any](draw *engine.Stream, all []T) T { return all[draw.Intn(len(all))] }

// lasts notes a harm that ends by itself.
func (h *hostility) lasts(d time.Duration) { h.until = max(h.until, h.world.Engine().Elapsed()+d) }

// later ends a harm.
func (h *hostility) later(d time.Duration, do func()) {
	h.lasts(d)
	h.world.Engine().After(d, func(any) { do() }, nil)
}

// beHostile does harm for a while, and then makes everything well again.
func beHostile(st *scenarios.Story, s *State, args HostileArgs) error {
	every := args.Every
	if every.Max == 0 {
		every = scenarios.Span{Min: time.Second, Max: time.Minute}
	}
	h := &hostility{State: s, draw: st.Engine().Stream("story", "harm")}
	err := hostile.Do(st, hostile.Time{For: args.For.Std(), Every: every}, harms, args.Only, h.draw, func() *hostility {
		h.node, h.work = pick(h.draw, s.nodes), pick(h.draw, s.works)
		return h
	})
	if err != nil {
		return err
	}
	if left := h.until - st.Engine().Elapsed(); left > 0 {
		if err := st.Sleep(left); err != nil {
			return err
		}
	}
	return s.makeWell(st)
}

// settled is how long it may take until shadows fit again, and until the Pods of before are
// gone.
const settled = 5 * time.Minute

// makeWell ends what does not end by itself, gives the Secrets what they had at first,
// and lets all workloads run anew: who has a placeholder of before in its environment
// needs a restart.
func (s *State) makeWell(st *scenarios.Story) error {
	s.names.rogue, s.names.nameless, s.webhookDown, s.webhookBlind = s.config.Rogue, false, false, false
	for _, n := range s.nodes {
		n.plane, n.refuses, n.forgets = s.config.Plane, false, false
		n.runtime.SetServed(s.config.NRI)
	}
	for _, c := range s.config.Secrets {
		if err := s.heal(c); err != nil {
			return err
		}
	}
	st.Tell("world", "the world is well again")
	fit, err := st.WaitUntil("shadows to fit", settled, func() (bool, error) { return s.shadowsFit() == nil && s.duplicatesEnded() == nil, nil })
	if err != nil {
		return err
	}
	if !fit {
		return fmt.Errorf("after %s: %w", settled, errors.Join(s.shadowsFit(), s.duplicatesEnded()))
	}
	st.Tell("world", "all workloads are restarted")
	for _, w := range s.works {
		w.wanted = false
	}
	gone, err := st.WaitUntil("workloads to be gone", settled, func() (bool, error) {
		return !slices.ContainsFunc(s.works, func(w *work) bool { return w.uid != "" || w.unsure || w.run != nil }), nil
	})
	if err != nil {
		return err
	}
	if !gone {
		return fmt.Errorf("some workloads are not gone after %s", settled)
	}
	for _, w := range s.works {
		w.wanted = true
	}
	return nil
}
