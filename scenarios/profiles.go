package scenarios

import "github.com/seedbed-sim/seedbed/sim/cluster"

// profiles are the presets for faults in the background, by the names that
// scenarios use.
var profiles = []struct {
	name, doc string
	make      func() cluster.Profile
}{
	{"calm", "Nothing goes wrong, but everything takes time.", cluster.Calm},
	{"stormy", "Every kind of fault strikes at its usual rate.", cluster.Stormy},
	{"swarm", "Each run draws which kinds of fault strike, and how often.", cluster.Swarm},
	{"races", "Requests, answers and watch events about objects that several use are overtaken by what others write, and processes crash.", cluster.Races},
}

func (r *Registry) profile(name string) func() cluster.Profile {
	for _, p := range profiles {
		if p.name == name {
			return p.make
		}
	}
	return nil
}

func (r *Registry) profileNames() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}
