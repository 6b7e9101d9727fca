package mutation

import (
	"fmt"
	"slices"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
	"github.com/seedbed-sim/seedbed/scenarios/provingground"
)

// Target is a package whose mutants are to be caught.
type Target struct {
	Name    string
	Package string // from the root of the module
	Rules   Rules

	// Systems are what the scenarios run.
	Systems func() []scenarios.System

	// Files reads the scenarios that have to pass while the code is whole, and to fail
	// while it is not.
	Files func(r *scenarios.Registry) ([]*scenarios.File, error)

	// Runs is how many histories of each scenario a mutant has to live through, with the
	// scenario's own faults and with each of Faults in their place (see
	// [scenarios.Exploration]).
	Runs   int
	Faults []string

	// Tested: the tests of the package see a mutant before scenarios do.
	Tested bool

	// Survivors is the file that says why what is not caught is not; from the root of the
	// module. Next to the code if that is not the core, which knows nothing of scenarios.
	Survivors string
}

// Targets lists all of them.
func Targets() []Target {
	return []Target{
		{
			Name: "provingground", Package: "scenarios/provingground", Rules: groundRules(), Systems: provingground.Systems,
			Files: groundFiles, Runs: 32, Faults: []string{refusals}, Survivors: "scenarios/provingground/survivors.txt",
		},
		{
			Name: "gossipkeys", Package: "core/gossipkeys", Rules: keysRules(), Systems: func() []scenarios.System { return []scenarios.System{gossipkeys.System()} },
			Files: passing(func(r *scenarios.Registry) ([]*scenarios.File, error) {
				return r.ReadFS(gossipkeys.Files, "gossipkeys")
			}), Runs: 4, Tested: true, Survivors: "scenarios/gossipkeys/survivors.txt",
		},
	}
}

// keysRules take the parts that decide what is written and what is delivered.
func keysRules() Rules {
	files := []string{"provisioner.go", "watcher.go", "gate.go"}
	return Rules{
		Functions: func(file, _ string) bool { return slices.Contains(files, file) },
		Writes:    []string{"fill", "create"},
	}
}

// refusals are faults that make calls of the API fail, at their usual rates and without
// anything else: what forgets an error then is not reminded by a restart.
const refusals = "api-error-409,api-error-429,api-error-500,api-error-timeout,api-loss-request,api-loss-response"

// TargetOf returns the target of a name.
func TargetOf(name string) (*Target, error) {
	all := Targets()
	i := slices.IndexFunc(all, func(t Target) bool { return t.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for i, t := range all {
			names[i] = t.Name
		}
		return nil, fmt.Errorf("target %q: there are %q", name, names)
	}
	return &all[i], nil
}

// groundRules take the repaired reconcilers, and leave out what surrounds them.
func groundRules() Rules {
	around := []string{"ground.kubelet", "ground.protection", "ground.letsGo", "ground.controller", "Look", "Measure"}
	return Rules{
		WithContext:   true,
		Functions:     func(_, function string) bool { return !slices.Contains(around, function) },
		Writes:        []string{"make", "drop", "note", "remove", "release", "useIdentity"},
		Preconditions: []string{"sameObject"},
		Given:         []string{"fixed", "o.fixed", "g.fixed", "c.fixed", "careful", "compare", "late", "c.fenced", "m.guarded"},
	}
}

func groundFiles(r *scenarios.Registry) ([]*scenarios.File, error) {
	var files []*scenarios.File
	for _, b := range provingground.Bugs() {
		_, fixed, err := b.Read(r)
		if err != nil {
			return nil, err
		}
		files = append(files, fixed)
	}
	return files, nil
}

// passing are the scenarios of a folder that expect no violation.
func passing(read func(*scenarios.Registry) ([]*scenarios.File, error)) func(*scenarios.Registry) ([]*scenarios.File, error) {
	return func(r *scenarios.Registry) ([]*scenarios.File, error) {
		files, err := read(r)
		return slices.DeleteFunc(files, func(f *scenarios.File) bool { return f.Expect.Violates != "" }), err
	}
}
