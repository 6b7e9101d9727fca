package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/mirror"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// parse reads a scenario whose head is always the same.
func parse(t *testing.T, r *scenarios.Registry, body string) *scenarios.File {
	t.Helper()
	text := "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: test, description: A test.}\n" + body
	file, err := r.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEveryStepCanBeTold(t *testing.T) {
	scenarios.RunFiles(t, registry(t), "testdata/good/*.yaml")
}

func TestHowRunsEnd(t *testing.T) {
	tests := []struct {
		name, body string
		result     scenarios.Result
		property   string
		found      string
	}{
		{"nothing happens", "systems: {mirror: }\nproperties: [mirror.*]", scenarios.Held, "", ""},
		{"a wait in vain", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- wait: {for: 'nodes.size() == 4', within: 5s}",
			scenarios.Violated, scenarios.StoryCompletes, "step 1 (wait, line 7): not true within 5s: nodes.size() == 4"},
		{"an assertion that is wrong", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- sleep: 1s\n- assert: exists('Secret', 'default/x')",
			scenarios.Violated, scenarios.StoryCompletes, "step 2 (assert, line 8): not true: exists('Secret', 'default/x')"},
		{"a condition about what is absent", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- assert: get('Secret', 'default/x').type == 'Opaque'",
			scenarios.Violated, scenarios.StoryCompletes, "step 1 (assert, line 7): not true: get('Secret', 'default/x').type == 'Opaque'"},
		{"deleting what is absent", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- delete: {kind: Secret, namespace: default, name: x}",
			scenarios.Violated, scenarios.StoryCompletes, `step 1 (delete, line 7): delete Secret default/x: secrets "x" not found`},
		{"stopping what was not started", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- stopFault: api-latency",
			scenarios.Violated, scenarios.StoryCompletes, "step 1 (stopFault, line 7): no step has switched on the fault api-latency"},
		{"a branch fails", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- together:\n  - - sleep: 5s\n  - - sleep: 1s\n    - assert: 'false'",
			scenarios.Violated, scenarios.StoryCompletes, "step 1.2.2 (assert, line 10): not true: false"},
		{"always", "systems: {mirror: }\nproperties:\n- {name: two, why: So., always: 'list(\"ConfigMap\", \"originals\").size() < 2'}\n" +
			"steps:\n- repeat: {times: 1, steps: [{mirror.set: {name: a, value: x}}]}\n- mirror.set: {name: b, value: x}",
			scenarios.Violated, "two", `the condition is false: list("ConfigMap", "originals").size() < 2`},
		{"never", "systems: {mirror: }\nproperties:\n- {name: down, why: So., never: 'nodes.exists(n, !n.up)'}\nsteps:\n- crash: node-2",
			scenarios.Violated, "down", "the condition is true: nodes.exists(n, !n.up)"},
		{"eventually, and stays", "systems: {mirror: }\nproperties:\n- {name: up, why: So., eventually: 'nodes.all(n, n.up)', within: 1m}\nsteps:\n- crash: node-2",
			scenarios.Held, "", ""},
		{"eventually, but not then", "systems: {mirror: }\nproperties:\n- {name: up, why: So., eventually: 'nodes.all(n, n.up)', within: 1m}\nsteps:\n- stop: node-2",
			scenarios.Violated, "up", "not within 1m after the story was told and faults had ceased: the condition is false: nodes.all(n, n.up)"},
		{"a panic", "systems: {mirror: {panics: true}}\nproperties: [mirror.*]\nsteps:\n- mirror.set: {name: a, value: boom}\n- sleep: 5s",
			scenarios.Violated, scenarios.NoPanic, "panic: cannot copy boom"},
		{"the horizon", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- sleep: 2m\nexplore: {horizon: 1m}",
			scenarios.Violated, scenarios.StoryCompletes, "the horizon of 1m was reached before the story was told"},
		{"the horizon before liveness", "systems: {mirror: }\nproperties: [mirror.*]\nexplore: {horizon: 59s}",
			scenarios.Violated, scenarios.StoryCompletes, "the horizon of 59s was reached before the properties that hold eventually had their time"},
		{"a manifest that the API server refuses", "systems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- apply:\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: NO, namespace: default}",
			scenarios.Violated, scenarios.StoryCompletes, `step 1 (apply, line 7): create Secret default/NO: Secret "NO" is invalid`},
		{"a schema that refuses", "cluster: {crds: [testdata/crds]}\nsystems: {mirror: }\nproperties: [mirror.*]\nsteps:\n- apply: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {size: 0}}",
			scenarios.Violated, scenarios.StoryCompletes, `step 1 (apply, line 8): create Widget default/w: Widget.example.com "w" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1`},
		{"an evaluation that fails", "systems: {mirror: }\nproperties:\n- {name: x, why: So., always: '1 / (nodes.size() - 3) > 0'}", scenarios.BadInput, "", ""},
	}
	r := registry(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := r.RunSeed(parse(t, r, test.body), 1)
			if o.Result != test.result || o.Property != test.property || !strings.Contains(o.Found, test.found) {
				t.Errorf("%s %s: %s (%v)", o.Result, o.Property, o.Found, o.Err)
			}
		})
	}
}

// careless gives up on the first error, which matters only when there is one.
const careless = `systems: {mirror: {hasty: true}}
faults:
  add: [{api-error-500: {rate: 30%, target: mirror}}]
steps:
- mirror.set: {name: a, value: x}
- sleep: 5s
properties: [mirror.*]
`

func TestFaultsInTheBackgroundMakeTheDifference(t *testing.T) {
	r := registry(t)
	for _, test := range []struct {
		body     string
		violated bool
	}{
		{careless, true},
		{strings.ReplaceAll(careless, "hasty: true", "hasty: false"), false},
		{strings.ReplaceAll(careless, "rate: 30%", "rate: 0.0001%"), false},
		{strings.ReplaceAll(careless, "target: mirror", "target: mirror, key: pods/*"), false},
	} {
		verdicts, err := r.Run(context.Background(), scenarios.Plan{Files: []*scenarios.File{parse(t, r, test.body)}, Seeds: 40})
		if err != nil {
			t.Fatal(err)
		}
		if v := verdicts[0]; (v.Bad != nil) != test.violated {
			t.Errorf("violated in 40 seeds: %v, want %v\n%s", v.Bad != nil, test.violated, test.body)
		}
		if struck := verdicts[0].Faults; test.violated && !cmp.Equal(struck, []string{"api-error-500"}) {
			t.Errorf("faults that struck: %v", struck)
		}
	}
}

func TestSameSeedSameHash(t *testing.T) {
	r, other := registry(t), registry(t)
	body := strings.Replace(careless, "faults:\n", "faults:\n  profile: swarm\n", 1)
	file, same := parse(t, r, body), parse(t, other, body)
	hashes := map[uint64]bool{}
	for seed := range uint64(20) {
		a, b := r.RunSeed(file, seed), other.RunSeed(same, seed)
		if a.Hash != b.Hash || a.Steps != b.Steps || a.Result != b.Result {
			t.Errorf("seed %d: %x after %d steps, then %x after %d", seed, a.Hash, a.Steps, b.Hash, b.Steps)
		}
		if traced, _ := r.TraceSeed(file, seed); traced.Hash != a.Hash {
			t.Errorf("seed %d: another hash with a trace", seed)
		}
		hashes[a.Hash] = true
	}
	if len(hashes) < 20 {
		t.Errorf("20 seeds gave %d histories", len(hashes))
	}
}

func TestReportsDoNotDependOnWorkers(t *testing.T) {
	r := registry(t)
	file := parse(t, r, careless+"expect: {violates: mirror.copies-equal-originals}\n")
	var reports []string
	for _, workers := range []int{1, 2, 7} {
		for _, untilShown := range []bool{false, true} {
			var text strings.Builder
			verdicts, err := r.Run(context.Background(), scenarios.Plan{
				Files: []*scenarios.File{file, file}, Seeds: 60, Workers: workers, UntilShown: untilShown,
				Each:   func(o *scenarios.Outcome) { fmt.Fprintln(&text, o.Seed, o.Result, o.Hash) },
				Judged: func(v *scenarios.Verdict) { fmt.Fprintln(&text, "judged", v.Runs, v.Shown, v.Steps) },
			})
			if err != nil || len(verdicts) != 2 {
				t.Fatal(err, len(verdicts))
			}
			if untilShown && verdicts[0].Shown != 1 {
				t.Errorf("went on after the violation was shown: %d times", verdicts[0].Shown)
			}
			reports = append(reports, text.String())
		}
	}
	for i := 2; i < len(reports); i++ {
		if diff := cmp.Diff(reports[i%2], reports[i]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAFailureIsShrunkAndReplays(t *testing.T) {
	r := registry(t)
	file := parse(t, r, strings.Replace(careless, "faults:\n", "faults:\n  profile: stormy\n", 1))
	verdicts, err := r.Run(context.Background(), scenarios.Plan{Files: []*scenarios.File{file}, Seeds: 100})
	if err != nil || verdicts[0].Bad == nil {
		t.Fatal("nothing failed", err)
	}
	f, err := r.Investigate(verdicts[0].Bad, sim.Budget{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Small.Picks) > 10 || len(f.Small.Picks) >= len(f.Original.Picks) {
		t.Errorf("shrunk from %d picks to %d", len(f.Original.Picks), len(f.Small.Picks))
	}
	again, err := r.Replay(f.Replay)
	if err != nil {
		t.Fatal(err)
	}
	if again.Hash != f.Hash || again.Property != f.Property || again.Found != f.Found {
		t.Errorf("replayed as %s: %s", again.Property, again.Found)
	}
}

func TestNoSecretIsToldOrTraced(t *testing.T) {
	r := registry(t)
	secrets := []string{"hunter2", "aHVudGVyMg", "s3cr3t"}
	file := parse(t, r, `given:
- {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}, stringData: {password: hunter2}}
systems: {mirror: {forgetful: true}}
steps:
- apply: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}, stringData: {password: s3cr3t}}
- patch: {kind: Secret, namespace: default, name: a, merge: {data: {other: aHVudGVyMg==}}}
- mirror.set: {name: a, value: x}
- wait: {for: 'exists("ConfigMap", "copies/a")', within: 1m}
- delete: {kind: Secret, namespace: default, name: a}
- delete: {kind: ConfigMap, namespace: originals, name: a}
properties: [mirror.*]
`)
	o, records := r.TraceSeed(file, 1)
	if o.Property != "mirror.no-orphans" {
		t.Fatalf("%s %s: %s", o.Result, o.Property, o.Found)
	}
	var story strings.Builder
	scenarios.WriteStory(&story, records, 0)
	var trace, line bytes.Buffer
	if err := report.WriteRecords(&trace, records); err != nil {
		t.Fatal(err)
	}
	if err := o.WriteJSON(&line); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{story.String(), trace.String(), line.String()} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s is shown in:\n%s", secret, text)
			}
		}
	}
	if !strings.Contains(story.String(), "applies Secret default/a") {
		t.Error(story.String())
	}
}

func ExampleRegistry_RunSeed() {
	registry := scenarios.MustNew(mirror.System())
	file, err := registry.Parse("orphan.yaml", []byte(`
apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata:
  name: orphan
  description: A controller that ignores deletions leaves copies behind.
systems:
  mirror: {forgetful: true}
steps:
  - mirror.set: {name: a, value: hello}
  - wait: {for: 'exists("ConfigMap", "copies/a")', within: 1m}
  - delete: {kind: ConfigMap, namespace: originals, name: a}
properties:
  - mirror.*
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	o := registry.RunSeed(file, 7)
	fmt.Println(o.Result, o.Property)
	fmt.Println(o.Found)
	// Output:
	// violated mirror.no-orphans
	// not within 1m after the story was told and faults had ceased: copies without an original: 1
}
