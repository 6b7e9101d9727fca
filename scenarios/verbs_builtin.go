package scenarios

import (
	"fmt"
	"reflect"
)

// builtin makes a step of the format itself.
func builtin[A any](name, doc, usage string, run func(st *Story, args A) error) *StepKind {
	return &StepKind{Name: name, Doc: doc, Usage: usage, args: reflect.TypeFor[A](),
		run: func(st *Story, args any) error { return run(st, *args.(*A)) }}
}

// structural marks steps that the story itself carries out.
func structural[A any](*Story, A) error {
	return fmt.Errorf("the step is carried out by the story")
}

// builtinSteps lists the steps of the format in the order worth reading.
func builtinSteps() []*StepKind {
	heal := builtin("heal", "Mends every cut that partition steps have made.", "heal: all", healStep)
	heal.optional = true
	return []*StepKind{
		builtin("apply", "Creates objects, or merges the manifests into existing ones.",
			"apply:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: x, namespace: default}", applyStep),
		builtin("patch", "Changes fields of one object.",
			"patch:\n  {kind: Secret, namespace: default, name: x, merge: {data: {a: null}}}", patchStep),
		builtin("delete", "Deletes one object.", "delete: {kind: Secret, namespace: default, name: x}", deleteStep),
		builtin("wait", "Waits for a condition; the story fails if it does not come true in time.",
			"wait: {for: 'exists(\"Secret\", \"default/x\")', within: 1m}", waitStep),
		builtin("assert", "Demands that a condition is true at this moment.",
			"assert: 'nodes.all(n, n.up)'", assertStep),
		builtin("sleep", "Lets virtual time pass; a range is drawn by each run.", "sleep: 10s..30s", sleepStep),
		builtin("startFault", "Switches a fault on, until stopFault or the end of the story.",
			"startFault:\n  api-error-500: {rate: 100%}", startFaultStep),
		builtin("stopFault", "Ends the faults of one kind that steps have switched on.", "stopFault: api-error-500", stopFaultStep),
		builtin("crash", "Kills a process, a node or an API server; it comes back by itself.",
			"crash: {target: node-1, downFor: 20s}", crashStep),
		builtin("restart", "Kills a process, a node or an API server and starts it at once.", "restart: controller", restartStep),
		builtin("stop", "Kills a process, a node or an API server and keeps it down until start.", "stop: controller", stopStep),
		builtin("start", "Starts what a stop step has taken down.", "start: controller", startStep),
		builtin("pause", "Freezes a process or all processes of a node, as a long pause of the machine does.",
			"pause: {target: node-1, for: 20s}", pauseStep),
		builtin("resume", "Lets a paused process or node go on.", "resume: node-1", resumeStep),
		builtin("partition", "Cuts the network between two sides.",
			"partition: {from: [node-1], to: [node-2, control-plane]}", partitionStep),
		heal,
		builtin("clock", "Makes the wall clock of a node wrong.", "clock: {node: node-1, step: +1h}", clockStep),
		builtin("repeat", "Tells some steps several times.", "repeat:\n  times: 3\n  steps:\n    - crash: node-1", structural[RepeatArgs]),
		builtin("together", "Tells several lists of steps side by side.",
			"together:\n  - - crash: node-1\n  - - sleep: 1s\n    - crash: node-2", structural[TogetherArgs]),
	}
}
