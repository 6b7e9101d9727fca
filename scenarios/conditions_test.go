package scenarios_test

import (
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// TestConditionsSeeTheTruth tells a story in which every assertion must hold.
func TestConditionsSeeTheTruth(t *testing.T) {
	r := registry(t)
	o := r.RunSeed(parse(t, r, `
cluster: {nodes: 2, apiServers: 2, nodeObjects: true}
given:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {x: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: kube-system}, data: {x: "2"}}
- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, stringData: {p: word}}
systems: {mirror: }
properties: [mirror.*]
steps:
- assert: nodes.map(n, n.name) == ["node-1", "node-2"] && nodes.all(n, n.up)
- assert: processes.exists_one(p, p.name == "mirror" && p.node == "control-plane" && p.alive && !p.paused && p.incarnation == 1)
- assert: list("ConfigMap", "default").map(c, c.data.x) == ["1"]
- assert: list("ConfigMap").exists(c, c.metadata.namespace == "kube-system" && c.data.x == "2")
- assert: exists("Node", "node-1") && !exists("Node", "node-3")
- assert: get("Secret", "default/s").data.p == "d29yZA=="
- assert: '!exists("apps/v1/Deployment", "default/x") && list("example.com/v1/Widget").size() == 0'
- assert: has(get("ConfigMap", "default/a").data.x) && !has(get("ConfigMap", "default/a").data.y)
- sleep: 90s
- assert: elapsed >= duration("90s") && elapsed < duration("91s")
- pause: mirror
- assert: processes.exists(p, p.name == "mirror" && p.alive && p.paused)
- resume: mirror
- assert: processes.exists(p, p.name == "mirror" && !p.paused)
- stop: mirror
- sleep: 5m
- assert: processes.exists(p, p.name == "mirror" && !p.alive)
- start: mirror
- sleep: 1s
- assert: processes.exists(p, p.name == "mirror" && p.alive && p.incarnation == 2)
- restart: mirror
- wait: {for: 'processes.exists(p, p.name == "mirror" && p.alive && p.incarnation == 3)', within: 10s}
- crash: {target: node-1, downFor: 20s}
- assert: nodes.exists(n, n.name == "node-1" && !n.up)
- sleep: 21s
- assert: nodes.all(n, n.up)
- stop: node-2
- sleep: 2m
- assert: nodes.exists(n, n.name == "node-2" && !n.up)
- start: node-2
- assert: nodes.all(n, n.up)
- restart: node-2
- wait: {for: 'nodes.all(n, n.up)', within: 1s}
- restart: apiserver-0
- crash: {target: apiserver-1, downFor: 1s..2s}
- patch: {kind: ConfigMap, namespace: default, name: a, merge: {data: {x: null, y: "3"}}}
- assert: get("ConfigMap", "default/a").data == {"y":"3"}
- patch: {kind: ConfigMap, namespace: default, name: a, json: [{op: add, path: /data/z, value: "4"}]}
- assert: get("ConfigMap", "default/a").data.z == "4"
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {new: "yes"}}, data: {y: "5"}}
- assert: get("ConfigMap", "default/a").data == {"y":"5", "z":"4"} && get("ConfigMap", "default/a").metadata.labels.new == "yes"
- delete: {kind: ConfigMap, namespace: default, name: a}
- assert: '!exists("ConfigMap", "default/a")'
`), 3)
	if o.Result != scenarios.Held {
		t.Errorf("%s %s: %s %v", o.Result, o.Property, o.Found, o.Err)
	}
}

// TestEventuallyMustStay: a condition that came true in time and is false again
// before the end is violated.
func TestEventuallyMustStay(t *testing.T) {
	r := registry(t)
	body := `systems: {mirror: }
properties:
- {name: early, why: So., eventually: 'elapsed < duration("20s")', within: 10s}
- {name: late, why: So., eventually: 'true', within: 1m}
- {name: wakes, why: So., always: 'mirror.reconciles < 3'}
steps:
- together:
  - - mirror.set: {name: a, value: x}
  - - sleep: 1s
`
	o := r.RunSeed(parse(t, r, body), 0)
	if o.Result != scenarios.Violated || o.Property != "early" {
		t.Errorf("%s %s %s", o.Result, o.Property, o.Found)
	}
}
