package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/mirror"
)

// Scenario files run as ordinary tests: a subtest per file, a few seeds each.
// More seeds: SEEDBED_SEEDS=1000 go test; one seed: SEEDBED_SEED=7 go test.
func ExampleRunFiles() {
	_ = func(t *testing.T) { // TestScenarios in a file of your own
		registry := scenarios.MustNew(mirror.System()) // your systems
		scenarios.RunFiles(t, registry, "testdata/scenarios/*.yaml")
	}
}

// Outside of tests a plan says which runs to make of which files.
func ExampleRegistry_Run() {
	registry := scenarios.MustNew(mirror.System())
	file, err := registry.Parse("orphan.yaml", []byte(`apiVersion: seedbed.dev/v1alpha1
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
expect: {violates: mirror.no-orphans}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	verdicts, err := registry.Run(context.Background(), scenarios.Plan{Files: []*scenarios.File{file}, Seeds: 8, Twice: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(verdicts[0].OK())
	fmt.Print(scenarios.Style{}.Verdict(&verdicts[0]))
	// Output:
	// true
	// ok     orphan      8  as expected, 8 of 8 violate mirror.no-orphans
}

// A mistake in a file is told at its place, with what was probably meant.
func ExampleRegistry_Parse() {
	registry := scenarios.MustNew(mirror.System())
	_, err := registry.Parse("my.yaml", []byte(`apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata:
  name: my-first
  description: Two mistakes.
systems:
  mirror:
steps:
  - crsh: node-1
  - sleep: 10
properties:
  - mirror.*
`))
	var problems scenarios.Problems
	if errors.As(err, &problems) {
		fmt.Print(problems.Report())
	}
	// Output:
	// my.yaml:9:5: steps[0].crsh: unknown step "crsh"; did you mean "crash"?
	//     9 |   - crsh: node-1
	//       |     ^
	//   allowed: apply, patch, delete, wait, assert, sleep, startFault, stopFault,
	//            crash, restart, stop, start, pause, resume, partition, heal, clock,
	//            repeat, together, mirror.set, note
	// my.yaml:10:12: steps[1].sleep:
	//   "10" has no unit; write 10s, 10m or another duration: the units are ms, s, m
	//   and h
	//    10 |   - sleep: 10
	//       |            ^
}
