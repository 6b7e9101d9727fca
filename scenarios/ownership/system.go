package ownership

import (
	"embed"
	"errors"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// Files are the scenarios of the system.
//
//go:embed *.yaml
var Files embed.FS

// Config is what a scenario may say about the system.
type Config struct {
	Work   scenarios.Duration `yaml:"work" doc:"How long the gardener plants and deletes before it lets go of everything."`
	Pace   scenarios.Duration `yaml:"pace" doc:"The longest time between two things that it does."`
	Mixed  bool               `yaml:"mixed" doc:"Let owners and dependents be of different kinds, which are watched apart."`
	Adopts bool               `yaml:"adopts" doc:"Give existing objects further owners, as controllers do that adopt."`
}

// State is the system in one run.
type State struct {
	world   *scenarios.World
	config  Config
	history history
	done    bool
	count   struct{ planted, collected, orphaned int }
}

// View is what CEL sees as ownership.
type View struct {
	Done      bool `cel:"done"`      // the gardener has let go of everything
	Planted   int  `cel:"planted"`   // objects made by the gardener
	Collected int  `cel:"collected"` // deletions by the collector
	Orphaned  int  `cel:"orphaned"`  // dependents that were to stay
}

const gardener = "gardener"

// System returns the system for registration.
func System() scenarios.System {
	return scenarios.System{
		Name:      "ownership",
		Doc:       "Somebody who makes objects that own each other and deletes them in every way: what the controllers of the cluster make of it is under test.",
		Config:    Config{Work: scenarios.Duration(3 * time.Minute), Pace: scenarios.Duration(4 * time.Second)},
		Check:     scenarios.CheckWith(check),
		Processes: scenarios.ProcessesWith(func(Config, scenarios.Cluster) []string { return []string{gardener} }),
		Build:     scenarios.BuildWith(build),
		View: scenarios.ViewOf(func(s *State) View {
			return View{Done: s.done, Planted: s.count.planted, Collected: s.count.collected, Orphaned: s.count.orphaned}
		}),
		Core:       scenarios.CoreWith(patience, judgeCore),
		Properties: properties(),
	}
}

func check(_ Config, shape scenarios.Cluster) error {
	var names []string
	for _, name := range shape.Controllers {
		names = append(names, string(name))
	}
	running, unknown := controllermanager.Select(names) // unknown names are told where they stand
	if len(names) == 0 || unknown == nil && !slices.Contains(running, controllermanager.GarbageCollector) {
		return &scenarios.ClusterError{Field: "controllers", Err: errors.New("nothing is collected without the garbage collector; write controllers: [\"*\"] under cluster")}
	}
	return nil
}

func build(w *scenarios.World, c Config) (*State, error) {
	s := &State{world: w, config: c}
	if err := s.record(); err != nil {
		return nil, err
	}
	w.ControlPlane().Process(cluster.ProcessSpec{Name: gardener, Main: s.garden, User: &user})
	return s, nil
}
