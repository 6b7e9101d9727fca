package scenarios

import "github.com/seedbed-sim/seedbed/sim"

// Simulation returns a file as package sim takes it, for runs whose choices do
// not come from seeds: rapid draws them with [sim.CheckRapid], the bytes of a
// fuzz target are the choices with [sim.Fuzz], and [sim.RunSource] takes any
// source.
//
//	rapid.Check(t, func(t *rapid.T) {
//		file, err := registry.Parse("story.yaml", drawStory(t))
//		…
//		options, build := registry.Simulation(file)
//		sim.CheckRapid(t, options, build)
//	})
//
// Such runs know nothing of seeds to explore nor of the expected violation:
// whatever is violated is an error.
func (r *Registry) Simulation(file *File) (sim.Options, sim.Build) {
	return r.options(file, 0), r.build(file, nil)
}
