package sim

import (
	"errors"
	"fmt"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Open builds a world that is not run to its end but driven from outside, with
// Engine().RunTo, and stays open until Close. The trace goes to the sink of
// o.Cluster.Engine, if there is one; it should, since such a run may be long.
//
// A property that breaks does not end the run: it is noted, and not asked any more;
// see [World.Properties]. What is asked at the end of a run is not asked. Tasks may
// wait for ever, because what they wait for may come from outside.
func Open(o Options, seed uint64, build Build) (*World, error) {
	o = o.withDefaults()
	cfg := o.Cluster
	cfg.Engine.Source, cfg.Engine.Trace, cfg.Engine.Idle = engine.NewSeed(seed), engine.TraceFull, engine.IdleAllowed
	if cfg.Engine.Sink == nil {
		cfg.Engine.Sink = func(engine.Record) {}
	}
	cfg.Engine.Stall, cfg.Engine.Patience = -1, -1
	o.watch(&cfg.Engine, seed)
	w := &World{name: o.Name, seed: seed, horizon: o.Horizon, open: true}
	if err := start(w, cfg, build); err != nil {
		if w.Cluster != nil {
			err = errors.Join(err, w.Close())
		}
		return nil, fmt.Errorf("build %s: %w", o.Name, err)
	}
	return w, nil
}

// Standing is how things stand with a property of an open world.
type Standing struct {
	Name, Meaning string

	// Broken is how it broke, or nil.
	Broken *Violation

	// AtEnd says that the property is only asked at the end of a run, which an open
	// world does not have.
	AtEnd bool
}

// Properties says how things stand with each property, in the order in which they
// were declared.
func (w *World) Properties() []Standing {
	all := make([]Standing, len(w.properties))
	for i, p := range w.properties {
		all[i] = Standing{Name: p.name, Meaning: p.meaning, Broken: p.broken, AtEnd: p.check == nil && p.broken == nil}
	}
	return all
}

// breach notes in an open world that a property is broken; in any other it returns
// what ends the run.
func (w *World) breach(p *property, err error) error {
	v := w.violated(p, err)
	if !w.open {
		return v
	}
	p.broken, p.done = v, true
	return nil
}

// Fail ends the run with err. A violation of a property of the world is only noted
// if the world is open.
func (w *World) Fail(err error) {
	var v *Violation
	if w.open && errors.As(err, &v) {
		for _, p := range w.properties {
			if p.name == v.Property {
				p.broken, p.done = v, true
				return
			}
		}
	}
	w.Engine().Stop(err)
}
