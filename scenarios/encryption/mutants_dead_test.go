package encryption_test

import "github.com/seedbed-sim/seedbed/scenarios/internal/mutant"

// deadPluginBugs are the planted bugs about KMS plugins that are dead for good.
var deadPluginBugs = []planted{
	{
		bug: "a key whose plugin is dead is never given up", property: "dead-plugins-are-left-behind",
		scenario: "kms/l8h-nobody-looks-after-a-dead-plugin.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "neverGivenUp", File: core + "deadplugin.go",
			Old: "if now-since > PluginPatience {",
			New: "if now-since < 0 {",
		},
	},
	{
		bug: "API servers are ready only with plugins that are given up", property: "dead-plugins-are-left-behind",
		scenario: "kms/l8h-nobody-looks-after-a-dead-plugin.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "neverExcused", File: core + "nodeagent/excuse.go",
			Old: "err == nil && asksForPlugins(u) == excused {",
			New: "err == nil && asksForPlugins(u) && excused && u.Path == \"\" {",
		},
	},
	{
		bug: "the way back needs a Secret, which nobody can write", property: "dead-plugins-are-left-behind",
		scenario: "kms/l8h-nobody-looks-after-a-dead-plugin.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "noFallback", File: core + "fallback.go",
			Old: "FallBack(); !falls {",
			New: "FallBack(); !falls || falls {",
		},
	},
	{
		bug: "nobody is told what is lost", property: "dead-plugins-are-left-behind",
		scenario: "kms/l8h-nobody-looks-after-a-dead-plugin.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "silentLoss", File: core + "loss.go",
			Old: "if len(l.seen) > 0 {",
			New: "if len(l.seen) > 1<<20 {",
		},
	},
	{
		bug: "a key that is given up is dropped at once", property: "the-policy-is-met",
		scenario: "kms/l8h-nobody-looks-after-a-dead-plugin.yaml", seeds: 10,
		Mutant: mutant.Mutant{
			Name: "droppedWhenGivenUp", File: core + "state/desired.go",
			Old: "retained := keys[: i+1 : i+1]",
			New: "retained := slices.DeleteFunc(slices.Clone(keys[:i+1]), func(k Key) bool { return k.GivenUp })",
		},
	},
	{
		bug: "a key is given up whose plugin is dead on one node", property: "dead-plugins-are-left-behind",
		scenario: "kms/l8b-plugin-dies-on-one-node.yaml", seeds: 3,
		Mutant: mutant.Mutant{
			Name: "deadOnOneNode", File: core + "pluginhealth.go",
			Old: "return r.runs > 0 && len(r.sick) == r.runs",
			New: "return len(r.sick) > 0",
		},
	},
}
