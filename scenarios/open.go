package scenarios

import (
	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// Open builds the world of a file and leaves it open, to be driven from outside: see
// [sim.Open]. The story is told and background faults strike as time passes; once the
// story is told and faults have ceased the world just goes on. Adjust may change what
// the world is made of, and furnish adds to what is in it, before anything else.
func (r *Registry) Open(file *File, seed uint64, adjust func(*sim.Options), furnish sim.Build) (*sim.World, error) {
	options := r.options(file, seed)
	adjust(&options)
	build := r.build(file, nil)
	return sim.Open(options, seed, func(w *sim.World) {
		furnish(w)
		build(w)
	})
}

// ParseFault reads one fault for an open world as a startFault step has it: its
// name, or a mapping from its name to its knobs. Clients outside of the simulation
// can be targets too. The error is of type [Problems].
func (r *Registry) ParseFault(text []byte, c *cluster.Cluster) (cluster.Fault, error) {
	doc, problems := form.Parse("fault", text)
	if len(problems) > 0 {
		return cluster.Fault{}, problems
	}
	var args StartFaultArgs
	d := r.forms.Decode(doc, &args)
	there := targets{visitors: true}
	for _, n := range c.Nodes() {
		there.nodes = append(there.nodes, n.Name())
	}
	for _, i := range c.Instances() {
		there.servers = append(there.servers, i.Name())
	}
	for _, p := range c.Processes() {
		there.processes = append(there.processes, p.Name())
	}
	for _, ref := range d.Refs {
		if cluster.LookupFault(ref.Name) == nil {
			d.FailName(ref.Place, ref.Name, r.faultNames(), "unknown fault %q", ref.Name)
		}
	}
	r.checkFault(d, there, FaultUse(args))
	if err := d.Problems().Err(); err != nil {
		return cluster.Fault{}, err
	}
	return FaultUse(args).fault(), nil
}
