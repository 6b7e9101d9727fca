package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// Making says how a run was made, where that differs from seedbed run: part of a replay
// file, since a schedule fits only a run that is made in the same way.
type Making struct {
	Search string `json:"search,omitempty"` // what has found it
	Faults string `json:"faults,omitempty"` // what stood in place of the scenario's own; see Registry.Override
	Swarm  bool   `json:"swarm,omitempty"`  // the run drew a part of its faults
}

// making is how a run is made.
type making struct {
	Making
	source  func() engine.Source
	faults  []cluster.Fault // in place of the scenario's own, if Faults says so
	observe func(engine.Event)
}

// apply changes the options of a run accordingly.
func (m *making) apply(o *sim.Options) {
	if m.Faults != "" {
		o.Cluster.Profile.Faults = m.faults
	}
	if plan, ok := explore.PlanOf(m.Faults); ok {
		o.Cluster.APIServers = max(o.Cluster.APIServers, plan.Servers)
	}
	if m.Swarm {
		o.Cluster.Profile.Swarm = true
	}
	o.Cluster.Engine.Observe = m.observe
}

// Override reads what may stand in place of a scenario's faults in the background: the
// name of a profile, or kinds of fault separated by commas, each at its usual rate.
// A plan of package explore is read by its Profile.
func (r *Registry) Override(text string) ([]cluster.Fault, error) {
	if preset := r.profile(text); preset != nil {
		return preset().Faults, nil
	}
	if plan, ok := explore.PlanOf(text); ok {
		return plan.Faults, nil
	}
	var faults []cluster.Fault
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if cluster.LookupFault(name) == nil {
			known := slices.Concat(r.profileNames(), r.faultNames())
			hint := "; seedbed list faults shows all"
			if near := Nearest(name, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return nil, fmt.Errorf("%q is neither a profile (%s) nor a kind of fault%s", name, strings.Join(r.profileNames(), ", "), hint)
		}
		faults = append(faults, cluster.Fault{Kind: name})
	}
	return faults, nil
}

// make makes one run.
func (r *Registry) make(file *File, seed uint64, m *making) *Outcome {
	var w *World
	options := r.options(file, seed)
	m.apply(&options)
	build := r.build(file, &w)
	got := sim.RunWith(options, seed, m.source(), func(base *sim.World) {
		build(base)
		w.observe = m.observe
	})
	o := r.outcome(file, got, w)
	o.making = m
	return o
}

// survey takes a first look at what there is to decide in a file's runs.
func (r *Registry) survey(file *File, seed uint64, m *making) explore.Survey {
	all, conflicts, survey := explore.Surveying(seed)
	for _, source := range []engine.Source{all, conflicts} {
		r.make(file, seed, &making{Making: m.Making, faults: m.faults, source: func() engine.Source { return source }})
	}
	return survey()
}
