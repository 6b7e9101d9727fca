package scenarios_test

import (
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
