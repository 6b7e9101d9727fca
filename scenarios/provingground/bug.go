package provingground

import (
	"strings"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// Bug is one entry of the proving ground: a bug of somebody else's controller, as a
// small reconciler of ours that has it, and does not have it if told so.
type Bug struct {
	ID    string // such as zookeeper-312; also the name of its files
	Title string // one line
	Link  string
	Class string // letters; see Classes

	// Why tells in plain words what goes wrong and what really triggered it.
	Why string

	// Property is the name of what must hold, and Meaning why it matters.
	Property, Meaning string

	processes []string

	// build starts everything but the story, and returns what must hold.
	build func(g *ground) scenarios.Check
}

// Classes are what the letters of a class mean.
var Classes = []struct{ Letter, Meaning string }{
	{"I", "intermediate: a crash between two writes"},
	{"S", "stale read, up to time travel"},
	{"U", "unobserved state"},
	{"L", "lost response"},
	{"C", "change of configuration"},
	{"P", "loss of scope"},
	{"W", "order of watches and lists"},
	{"N", "node agent or runtime"},
	{"T", "time and leases"},
}

// Bugs lists all of them in the order of the table.
func Bugs() []Bug {
	var all []Bug
	for _, family := range [][]Bug{
		recreatedBugs(), staleSpecBugs(), intermediateBugs(), halfwayBugs(), unobservedBugs(), replicaBugs(), onceMadeBugs(), collectedBugs(), nodeBugs(), reloaderBugs(), volumeBugs(), leaderBugs(), runtimeBugs(), dataPlaneBugs(),
	} {
		all = append(all, family...)
	}
	return all
}

// System is the name of the bug's system: its ID without dashes.
func (b *Bug) System() string { return strings.ReplaceAll(b.ID, "-", "") }

// FullProperty is the name of its property in the library.
func (b *Bug) FullProperty() string { return b.System() + "." + b.Property }

// Config is what a scenario may say about each bug.
type Config struct {
	Fixed bool `yaml:"fixed" doc:"Run the repaired reconciler."`
}

// Systems returns a system for each bug, for registration.
func Systems() []scenarios.System {
	var all []scenarios.System
	for _, b := range Bugs() {
		all = append(all, b.system())
	}
	return all
}

func (b Bug) system() scenarios.System {
	return scenarios.System{
		Name:        b.System(),
		Doc:         b.Title + " (" + b.Link + ").",
		Config:      Config{},
		Processes:   scenarios.ProcessesWith(func(Config, scenarios.Cluster) []string { return b.processes }),
		AddToScheme: addToScheme,
		Definitions: definitions(),
		Build: scenarios.BuildWith(func(w *scenarios.World, c Config) (*ground, error) {
			g := newGround(w, c.Fixed)
			g.check = b.build(g)
			if demand := work[b.ID]; demand != nil && g.fixed {
				demand(g)
			}
			return g, nil
		}),
		Properties: []scenarios.Property{
			scenarios.NewProperty(b.Property, b.Meaning, func(_ *scenarios.World, g *ground) scenarios.Check { return g.check }),
			scenarios.NewProperty(worksProperty, whyItWorks, func(_ *scenarios.World, g *ground) scenarios.Check { return g.workCheck() }),
		},
	}
}
