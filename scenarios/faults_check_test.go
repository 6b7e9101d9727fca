package scenarios

import (
	"slices"
	"testing"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// TestEveryLimitHasBounds: without bounds a limit that makes no sense would only
// be noticed by a panic in the middle of a run.
func TestEveryLimitHasBounds(t *testing.T) {
	for _, kind := range cluster.FaultKinds() {
		has := slices.ContainsFunc(knobsOf(kind), func(k knobForm) bool { return k.name == "limit" })
		if _, bounded := limits[kind.Name]; has != bounded {
			t.Errorf("%s: has the knob: %v, has bounds: %v", kind.Name, has, bounded)
		}
	}
}

func TestTheStorysOwnPanicsAreNotTheSystems(t *testing.T) {
	r := MustNew(System{
		Name: "broken", Doc: "A system whose step panics.",
		Build: BuildWith(func(*World, struct{}) (int, error) { return 0, nil }),
		Steps: []StepKind{NewStep("boom", "Panics.", "broken.boom:", func(*Story, int, struct{}) error { panic("boom") })},
	})
	for _, step := range []string{"broken.boom:", "together: [[{sleep: 1s}], [{broken.boom: }]]"} {
		file, err := r.Parse("x.yaml", []byte("apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x, description: x}\n"+
			"systems: {broken: }\nproperties: [no-panic]\nsteps:\n- "+step+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if o := r.RunSeed(file, 1); o.Result != Failed || o.Err == nil {
			t.Errorf("%s: %s %s: %v", step, o.Result, o.Property, o.Err)
		}
	}
}
