package library

import (
	"io/fs"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/cloak"
	"github.com/seedbed-sim/seedbed/scenarios/encryption"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
	"github.com/seedbed-sim/seedbed/scenarios/home"
	"github.com/seedbed-sim/seedbed/scenarios/ownership"
	"github.com/seedbed-sim/seedbed/scenarios/provingground"
)

// entry is one built-in system with its scenario files.
type entry struct {
	folder string // the name of its folder beside this package
	system func() scenarios.System
	files  fs.FS
}

// entries lists the library in the order in which it is shown and run.
var entries = []entry{
	{"cloak", cloak.System, cloak.Files},
	{"encryption", encryption.System, encryption.Files},
	{"gossipkeys", gossipkeys.System, gossipkeys.Files},
	{"home", home.System, home.Files},
	{"ownership", ownership.System, ownership.Files},
}

// Systems returns the built-in systems, and after them those of the proving ground, whose
// files are no part of the library: most are there to fail.
func Systems() []scenarios.System {
	var systems []scenarios.System
	for _, e := range entries {
		systems = append(systems, e.system())
	}
	return append(systems, provingground.Systems()...)
}

// Read reads and checks the built-in scenario files. Their paths begin with the
// folder of their system.
func Read(r *scenarios.Registry) ([]*scenarios.File, error) {
	var all []*scenarios.File
	for _, e := range entries {
		files, err := r.ReadFS(e.files, e.folder)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}
