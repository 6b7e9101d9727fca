package gossipkeys_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/gossipkeys"
)

const head = "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: test, description: A test.}\n"

// TestMistakesAreToldWithTheirPlace: files that make no sense for this system
// are refused before anything runs, with file, line and column, and with what to
// write instead.
func TestMistakesAreToldWithTheirPlace(t *testing.T) {
	const cluster = "cluster: {nodes: 3, nodeObjects: true}\n"
	const system = cluster + "systems: {gossipkeys: }\nproperties: [gossipkeys.*]\n"
	const keyHint = "; write a word such as K1, or K1/16 for one of 16 bytes (16, 24 or 32)"
	for _, test := range []struct {
		name, body string
		want       []string
	}{
		{"key of no size", system + "steps:\n- gossipkeys.setKeys: [K1, K2/17]\n", []string{
			`test.yaml:8:28: steps[0].gossipkeys.setKeys[1]: "K2/17" is no name of a key` + keyHint}},
		{"key to rotate to", system + "steps:\n- gossipkeys.rotate: {to: K2/, within: 1m}\n", []string{
			`test.yaml:8:27: steps[0].gossipkeys.rotate.to: "K2/" is no name of a key` + keyHint}},
		{"key in a text", system + "steps:\n- gossipkeys.setText: \"{K1}\\n{K 2}\"\n", []string{
			`test.yaml:8:23: steps[0].gossipkeys.setText: "K 2" is no name of a key` + keyHint}},
		{"key at the start", cluster + "systems:\n  gossipkeys:\n    keys: [K1/33]\nproperties: [gossipkeys.*]\n", []string{
			`test.yaml:7:12: systems.gossipkeys.keys[0]: "K1/33" is no name of a key` + keyHint}},
		{"no Node objects", "systems:\n  gossipkeys:\nproperties: [gossipkeys.*]\n", []string{
			"test.yaml:5:3: systems.gossipkeys: agents of gossipkeys find their peers among the Node objects; write nodeObjects: true under cluster"}},
		{"Node objects refused", "cluster: {nodes: 3, nodeObjects: false}\nsystems: {gossipkeys: }\nproperties: [gossipkeys.*]\n", []string{
			"test.yaml:4:34: cluster.nodeObjects: agents of gossipkeys find their peers among the Node objects; write nodeObjects: true under cluster"}},
		{"no Node objects in the cluster", "cluster: {nodes: 3}\nsystems: {gossipkeys: }\nproperties: [gossipkeys.*]\n", []string{
			"test.yaml:4:10: cluster: agents of gossipkeys find their peers among the Node objects; write nodeObjects: true under cluster"}},
		{"mode", cluster + "systems:\n  gossipkeys: {mode: hard-swop}\nproperties: [gossipkeys.*]\n", []string{
			`test.yaml:6:22: systems.gossipkeys.mode: "hard-swop" is not a value of this field; did you mean "hard-swap"?`}},
		{"setting", cluster + "systems:\n  gossipkeys: {timming: lan}\nproperties: [gossipkeys.*]\n", []string{
			`test.yaml:6:16: systems.gossipkeys.timming: unknown field "timming"; did you mean "timing"?`}},
		{"node", system + "steps:\n- gossipkeys.inject: node-4\n", []string{
			`test.yaml:8:22: steps[0].gossipkeys.inject: no node is named "node-4"; did you mean "node-1"?`}},
		{"step", system + "steps:\n- gossipkeys.rotat: K2\n", []string{
			`test.yaml:8:3: steps[0].gossipkeys.rotat: unknown step "gossipkeys.rotat"; did you mean "gossipkeys.rotate"?`}},
		{"property", system + "expect: {violates: gossipkeys.secret-comes-bakc}\n", []string{
			`test.yaml:7:20: expect.violates: no property is named "gossipkeys.secret-comes-bakc"; did you mean "gossipkeys.secret-comes-back"?`}},
		{"process", system + "steps:\n- crash: node-3/agnet\n", []string{
			`test.yaml:8:10: steps[0].crash: no node, process or API server is named "node-3/agnet"; did you mean "node-3/agent"?`}},
		{"condition", system + "steps:\n- assert: gossipkeys.agents.all(a, a.redy)\n", []string{
			`test.yaml:8:37: steps[0].assert: CEL: there is no field "redy"; did you mean "ready"?`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := scenarios.New(gossipkeys.System())
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Parse("test.yaml", []byte(head+test.body))
			var problems scenarios.Problems
			errors.As(err, &problems)
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
