package gossipkeys_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
	"github.com/seedbed-sim/seedbed/sim"
)

// TestAnyStory lets rapid make up stories: edits good and bad, deletions,
// rotations, crashes, in any order and at any pace. Whatever happens, no key is
// lost or shown, nobody acts on half a list, and once it is over everybody is
// back.
//
// Rapid draws what happens in the cluster as well, and makes both smaller when
// something fails.
func TestAnyStory(t *testing.T) {
	r, err := scenarios.New(gossipkeys.System())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		story := drawStory(t)
		file, err := r.Parse("story.yaml", []byte(story))
		if err != nil {
			t.Fatalf("%v in\n%s", err, story)
		}
		options, build := r.Simulation(file)
		sim.CheckRapid(t, options, build)
	})
}

// drawStory draws a scenario file.
func drawStory(t *rapid.T) string {
	steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 8).Draw(t, "steps")
	return fmt.Sprintf(`apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: any-story, description: Anything happens.}
cluster: {nodes: 3, nodeObjects: true, rbac: true}
systems:
  gossipkeys: {keys: [K1], controllers: %d, applyLag: 0s..5s}
steps:
  - wait: {for: 'gossipkeys.agents.all(a, a.ready)', within: 1m}
%s  - heal:
  - note: Whatever was left there is put right in the end.
    gossipkeys.setKeys: [K1, K2]
  - sleep: 1m
properties:
  - library: gossipkeys.*
    except: [gossipkeys.all-nodes-understand-each-other]
explore: {horizon: 1h}
`, rapid.IntRange(1, 2).Draw(t, "controllers"), strings.Join(steps, ""))
}

// drawStep draws one thing that happens, and the time until the next.
func drawStep(t *rapid.T) string {
	target := rapid.SampledFrom([]string{"node-1", "node-2", "node-2/agent", "node-1/controller-0", "node-1/rotator-0", "node-3/agent"})
	what := rapid.SampledFrom([]string{"keys", "text", "delete", "rotate", "crash", "pause", "partition", "shut down"}).Draw(t, "what")
	step := ""
	switch what {
	case "keys":
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"K1", "K2", "K3", "K4/16"}), 1, 4).Draw(t, "keys")
		step = fmt.Sprintf("gossipkeys.setKeys: [%s]", strings.Join(keys, ", "))
	case "text":
		text := rapid.SampledFrom([]string{"", "spoilt", " \n", "{K1}!\n{K2}", "{K3}\n\nAAAA\n", "{K2}\r\n{K1}"}).Draw(t, "text")
		step = fmt.Sprintf("gossipkeys.setText: %q", text)
	case "delete":
		step = "gossipkeys.setText: spoilt # so that there is something to delete\n  - delete: {kind: Secret, namespace: kube-system, name: antrea-memberlist-keys}"
	case "rotate":
		step = "gossipkeys.rotate: fresh"
	case "crash":
		step = fmt.Sprintf("crash: {target: %s, downFor: 0s..30s}", target.Draw(t, "target"))
	case "pause":
		step = fmt.Sprintf("pause: {target: %s, for: 1s..40s}", target.Draw(t, "target"))
	case "partition":
		step = "partition: {from: [node-3]}\n  - sleep: 0s..90s\n  - heal:"
	case "shut down":
		step = "gossipkeys.shutDown: any-node"
	}
	pause := rapid.SampledFrom([]string{"0s..50ms", "0s..5s", "20s..2m"}).Draw(t, "pause")
	return fmt.Sprintf("  - %s\n  - sleep: %s\n", step, pause)
}
