package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// nothingAtAll is a scenario of the system that idle registers.
const nothingAtAll = "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x, description: x}\n" +
	"systems: {idle: }\nproperties: [no-panic]\n"

// idle registers a system that does nothing but to be built.
func idle(build func(w *World, _ struct{}) (int, error)) *Registry {
	return MustNew(System{Name: "idle", Doc: "Does nothing.", Build: BuildWith(build)})
}

// TestAPanicOfTheSimulatorIsTheOutcomeOfItsRun: the scenario and the seed are
// named, and the other runs are made.
func TestAPanicOfTheSimulatorIsTheOutcomeOfItsRun(t *testing.T) {
	r := idle(func(*World, struct{}) (int, error) { return 0, nil })
	file, err := r.Parse("x.yaml", []byte(nothingAtAll))
	if err != nil {
		t.Fatal(err)
	}
	broken := *file
	broken.systems = nil // so that looking at its first system panics
	o := r.guarded(job{file: nil, seed: 7})
	if o.Result != Failed || o.Seed != 7 || !strings.Contains(o.Err.Error(), "panic in the simulator: ") || !strings.Contains(o.Err.Error(), "explore_test.go") {
		t.Errorf("%+v", o)
	}
	verdicts, err := r.Run(context.Background(), Plan{Files: []*File{&broken, file}, Seeds: 2})
	if err != nil || len(verdicts) != 2 || verdicts[0].Bad == nil || verdicts[0].Bad.Result != Failed || verdicts[1].Bad != nil {
		t.Errorf("%+v %v", verdicts, err)
	}
}

// TestConditionsAboutWhatNeverExistsAreReported: they hold for ever, or are
// violated for the wrong reason.
func TestConditionsAboutWhatNeverExistsAreReported(t *testing.T) {
	r := idle(func(*World, struct{}) (int, error) { return 0, nil })
	file, err := r.Parse("x.yaml", []byte(strings.Replace(nothingAtAll, "properties: [no-panic]", `given:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {x: "1"}}
properties:
- {name: misspelt, why: So., never: 'get("ConfigMap", "default/aa").data.x == "2"'}
- {name: no-such-field, why: So., never: 'get("ConfigMap", "default/a").dato.x == "2"'}
- {name: no-such-entry, why: So., never: 'get("ConfigMap", "default/a").data["y"] == "2"'}
- {name: no-such-index, why: So., never: 'nodes[9].up'}
- {name: empty-list, why: So., never: 'list("Pod")[0].metadata.name == "x"'}
- {name: fine, why: So., never: 'get("ConfigMap", "default/a").data.x == "2"'}
- {name: guarded, why: So., never: 'exists("ConfigMap", "default/b") && get("ConfigMap", "default/b").data.x == "2"'}
- {name: later, why: So., never: 'get("ConfigMap", "default/c").data.x == "2"'}
steps:
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {x: "1"}}`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := r.Run(context.Background(), Plan{Files: []*File{file}, Seeds: 3})
	if err != nil || !verdicts[0].OK() {
		t.Fatal(verdicts[0].Err, err)
	}
	if diff := cmp.Diff([]string{"empty-list", "misspelt", "no-such-entry", "no-such-field", "no-such-index"}, verdicts[0].Absent); diff != "" {
		t.Error(diff)
	}
	text := strings.Join(strings.Fields(Style{}.Summary(Summarise(verdicts))), " ")
	if !strings.Contains(text, "warning in every run something was absent that the condition names") || !strings.Contains(text, "x/misspelt, x/no-such-entry") {
		t.Error(text)
	}
}

// TestTheFirstSeedsRunTwice on a system whose story depends on how often it was
// built.
func TestTheFirstSeedsRunTwice(t *testing.T) {
	built := 0
	r := idle(func(w *World, _ struct{}) (int, error) {
		built++
		w.Engine().Emit(engine.Event{Kind: "story", Actor: "idle", N: uint64(built)})
		return built, nil
	})
	file, err := r.Parse("x.yaml", []byte(nothingAtAll))
	if err != nil {
		t.Fatal(err)
	}
	// Where two runs part is looked for in two more.
	for _, test := range []struct{ plan, runs int }{{0, 3}, {1, 4 + 2}, {2, 5 + 4}} {
		built = 0
		verdicts, err := r.Run(context.Background(), Plan{Files: []*File{file}, Seeds: 3, Workers: 1, Twice: test.plan})
		var unrepeatable *sim.NondeterminismError
		if err != nil || built != test.runs || errors.As(verdicts[0].Err, &unrepeatable) != (test.plan > 0) {
			t.Errorf("%d seeds twice: %d runs of %d, %v %v", test.plan, built, test.runs, verdicts[0].Err, err)
		}
	}
	if plan, err := testPlan(file); err != nil || plan.Twice != 1 {
		t.Errorf("go test runs %d seeds twice: %v", plan.Twice, err)
	}
}
