package hostile

import (
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Harm is one thing that goes wrong. Do returns what that is, in words; empty if there was
// nothing to do it to.
type Harm[W any] struct {
	Name   string
	Weight int
	Do     func(W) (string, error)
}

// Of returns a harm.
func Of[W any](name string, weight int, do func(W) (string, error)) Harm[W] {
	return Harm[W]{Name: name, Weight: weight, Do: do}
}

// Names are those of harms, in their order.
func Names[W any](harms []Harm[W]) []string {
	names := make([]string, len(harms))
	for i := range harms {
		names[i] = harms[i].Name
	}
	return names
}

// Time says when harm is done: for how long, and how far apart.
type Time struct {
	For   time.Duration
	Every scenarios.Span
}

// Do does harm, only those that are named if any are. Before each, aim says what it is
// done to. It draws from draw which harm it is.
func Do[W any](st *scenarios.Story, t Time, harms []Harm[W], only []string, draw *engine.Stream, aim func() W) error {
	chosen, total := slices.Clone(harms), 0
	for _, name := range only {
		if !slices.Contains(Names(harms), name) {
			return fmt.Errorf("there is no harm %q; there are %v", name, Names(harms))
		}
	}
	if len(only) > 0 {
		chosen = slices.DeleteFunc(chosen, func(h Harm[W]) bool { return !slices.Contains(only, h.Name) })
	}
	for _, h := range chosen {
		total += h.Weight
	}
	for end := st.Engine().Elapsed() + t.For; st.Engine().Elapsed() < end; {
		if err := st.Sleep(min(st.DrawSpan("pause", t.Every), max(0, end-st.Engine().Elapsed()))); err != nil {
			return err
		}
		strike(st, chosen, aim(), draw.Intn(total))
	}
	return nil
}

// strike does the harm that a number stands for.
func strike[W any](st *scenarios.Story, chosen []Harm[W], w W, n int) {
	for _, h := range chosen {
		if n -= h.Weight; n >= 0 {
			continue
		}
		switch text, err := h.Do(w); {
		case err != nil:
			st.Tell(h.Name, "tries in vain: %s: %v", h.Name, err)
		case text != "":
			st.Tell(h.Name, "%s", text)
		}
		return
	}
}
