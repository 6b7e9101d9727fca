package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// choir is a system whose members sing once they see enough of their kind. The config
// says whether that is a majority of the nodes or all of them.
type choir struct {
	w       *scenarios.World
	all     bool
	heard   map[[2]string]time.Duration // by listener and speaker
	singing map[string]bool
}

type choirConfig struct {
	All bool `yaml:"all" doc:"Sing only when all nodes are there."`
}

func (c *choir) member(ctx context.Context, env *cluster.Env) {
	c.singing[env.Node] = false
	maps.DeleteFunc(c.heard, func(hear [2]string, _ time.Duration) bool { return hear[0] == env.Node })
	enough := len(c.w.Nodes())/2 + 1
	if c.all {
		enough = len(c.w.Nodes())
	}
	for env.Clock.Sleep(ctx, time.Second) == nil {
		seen, now := 0, c.w.Engine().Elapsed()
		for _, n := range c.w.Nodes() {
			hear := [2]string{n.Name(), env.Node}
			c.w.Cluster.Network().Send(env.Node, n.Name(), func(any) { c.heard[hear] = c.w.Engine().Elapsed() }, nil)
			if at, ok := c.heard[[2]string{env.Node, n.Name()}]; ok && now-at < 3*time.Second {
				seen++
			}
		}
		c.singing[env.Node] = c.singing[env.Node] || seen >= enough
		c.w.Engine().Touch()
	}
}

func (c *choir) sings(nodes []*cluster.Node) error {
	for _, n := range nodes {
		if !c.singing[n.Name()] {
			return fmt.Errorf("%s does not sing", n.Name())
		}
	}
	return nil
}

func choirSystem() scenarios.System {
	return scenarios.System{
		Name: "choir", Doc: "Processes that sing once enough of them are there.", Config: choirConfig{},
		Processes: scenarios.ProcessesWith(func(_ choirConfig, c scenarios.Cluster) []string {
			return slices.Collect(func(yield func(string) bool) {
				for _, n := range c.NodeNames() {
					if !yield(n + "/member") {
						return
					}
				}
			})
		}),
		Build: scenarios.BuildWith(func(w *scenarios.World, c choirConfig) (*choir, error) {
			s := &choir{w: w, all: c.All, heard: map[[2]string]time.Duration{}, singing: map[string]bool{}}
			for _, n := range w.Nodes() {
				n.Process(cluster.ProcessSpec{Name: n.Name() + "/member", Main: s.member})
			}
			return s, nil
		}),
		Core: scenarios.CoreWith(time.Minute, func(_ *scenarios.World, s *choir, core *cluster.Core) scenarios.CoreCheck {
			return scenarios.CoreCheck{
				Begin: func() {
					for _, n := range core.Nodes {
						s.singing[n.Name()] = false // what it was before its restart does not count
						n.Processes()[0].Restart(0)
					}
				},
				Converged: func() error { return s.sings(core.Nodes) },
			}
		}),
		Properties: []scenarios.Property{
			scenarios.NewProperty("all-sing", "Once all is calm everybody sings.", func(w *scenarios.World, s *choir) scenarios.Check {
				return scenarios.Check{Eventually: func() error { return s.sings(w.Nodes()) }, Within: time.Minute}
			}),
		},
	}
}

// TestTheCorePhase: what waits for all nodes is caught in runs with trouble in the background,
// and only by the core phase; the phase is part of the story.
func TestTheCorePhase(t *testing.T) {
	r, err := scenarios.New(choirSystem())
	if err != nil {
		t.Fatal(err)
	}
	const crashes = "faults: {add: [{process-crash: {rate: 1%%}}]%s}\ncluster: {nodes: 5}\nproperties: [choir.*]\nsteps: [{sleep: 30s}]\n%s"
	for _, test := range []struct {
		name, body string
		phase      bool // there is one in some run
		caught     bool
	}{
		{"a majority is enough", "systems: {choir: }\n" + fmt.Sprintf(crashes, "", ""), true, false},
		{"waits for all", "systems: {choir: {all: true}}\n" + fmt.Sprintf(crashes, "", ""), true, true},
		{"waits for all, without the phase", "systems: {choir: {all: true}}\n" + fmt.Sprintf(crashes, ", core: false", ""), false, false},
		{"waits for all, without trouble", "systems: {choir: {all: true}}\nproperties: [choir.*]\ncluster: {nodes: 5}\nsteps: [{sleep: 30s}]", false, false},
		{"waits for all, but two nodes have none to spare", strings.Replace("systems: {choir: {all: true}}\n"+fmt.Sprintf(crashes, "", ""), "nodes: 5", "nodes: 2", 1), false, false},
		{"the story has cut a link", "systems: {choir: }\nfaults: {add: [api-latency]}\ncluster: {nodes: 5}\nproperties: [choir.*]\n" +
			"steps: [{sleep: 30s}, {partition: {from: [node-2]}}]", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := parse(t, r, test.body)
			phases, caught := 0, 0
			for seed := range uint64(12) {
				o, records := r.TraceSeed(file, seed)
				told := false
				for i := range records {
					told = told || records[i].Verb == "core" && strings.Contains(records[i].Detail, ", while ")
				}
				if told {
					phases++
				}
				switch {
				case o.Result == scenarios.Held:
				case o.Property == scenarios.CoreConverges && told:
					caught++
					for _, part := range []string{"the core is node-", ", while node-", "not within 1m: choir: node-", "does not sing"} {
						if !strings.Contains(o.Found, part) {
							t.Errorf("%q is not in %q", part, o.Found)
						}
					}
				default:
					t.Errorf("seed %d: %s %s: %s (%v)", seed, o.Result, o.Property, o.Found, o.Err)
				}
			}
			if phases > 0 != test.phase || caught > 0 != test.caught {
				t.Errorf("the phase was in %d runs, and caught in %d of them", phases, caught)
			}
		})
	}
}

// TestTheHorizonInTheCorePhase: it is said where the run has ended.
func TestTheHorizonInTheCorePhase(t *testing.T) {
	r, err := scenarios.New(choirSystem())
	if err != nil {
		t.Fatal(err)
	}
	file := parse(t, r, "systems: {choir: {all: true}}\nfaults: {add: [process-crash]}\ncluster: {nodes: 5}\nproperties: [choir.*]\nsteps: [{sleep: 30s}]\nexplore: {horizon: 50s}")
	const want = "the horizon of 50s was reached before the core of the cluster had its time to converge"
	for seed := range uint64(12) {
		if o := r.RunSeed(file, seed); o.Found == want {
			return
		}
	}
	t.Errorf("no run says: %s", want)
}
