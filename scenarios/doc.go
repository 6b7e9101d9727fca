// Package scenarios is the YAML format in which simulated clusters are described
// as stories, and the runner that lives through them.
//
// A scenario says what runs, what happens, what goes wrong meanwhile, and what
// must hold:
//
//	apiVersion: seedbed.dev/v1alpha1
//	kind: Scenario
//	metadata:
//	  name: survives-a-crash
//	  description: The controller dies while somebody edits an original.
//	cluster:
//	  nodes: 3
//	systems:
//	  mirror:
//	faults:
//	  profile: stormy
//	steps:
//	  - note: Somebody writes an original.
//	    mirror.set: {name: a, value: hello}
//	  - crash: mirror
//	  - wait:
//	      for: exists("ConfigMap", "copies/a")
//	      within: 2m
//	properties:
//	  - mirror.*
//	  - name: originals-stay
//	    why: The controller has no business in the namespace originals.
//	    always: list("ConfigMap", "originals").size() <= 1
//	explore:
//	  seeds: 50
//	expect: pass
//
// # How a run goes
//
// The objects under given are created, the systems are built in the order of the
// file, properties are declared, and the steps are told one after another in
// virtual time, while the systems and the faults in the background act on their
// own. Steps act from outside: what they do takes effect at once. When the last
// step is done and faults have ceased the world is calm: from then on properties
// that hold eventually have their time. The run ends when all have had it, 30 s
// later at least, or at the horizon, which violates story-completes.
//
// Clusters are rarely well as a whole. So, in a scenario with faults in the
// background, these cease for a random core of the cluster first: more than half of
// the nodes, and at least one API server. Other nodes are down, cut off or frozen,
// other API servers are down, and the core has to converge without them. If it has
// not in time the built-in property core-converges is violated, and says which nodes
// formed the core, what was wrong outside, and what is missing. Then the rest comes
// back, and the world is calm. What a core has to come to is the system's to say
// (System.Core). There is no such phase if no system says it, with faults: {core:
// false}, or if the steps leave links cut or half of the nodes down.
//
// Each seed is another history. A scenario with expect: {violates: P} shows a
// known unsafe practice: at least one of the seeds run must violate P.
//
// # Conditions
//
// Conditions are CEL. They see elapsed (virtual time), nodes, processes, the
// view of each system under its name, and API objects as they are in the store:
// get("Secret", "namespace/name"), exists(…), list("Pod", "namespace"). A
// condition that needs something which does not exist is false.
//
// # Where things are
//
//	Registry    what files may name; made by New from systems
//	System      the seam through which a system joins: config, build, steps, …
//	File        a valid file; Registry.Parse and Registry.Read make it
//	Plan        which runs to make; Registry.Run makes them, in parallel
//	Outcome     what came of one run, Verdict of all runs of a file
//	Failure     a failing run, shrunk and told; Registry.Investigate
//	Exploration how to look for violations in many ways; Registry.Explore
//	RunFiles    the same as tests of go test
//
// The package does not know any system: those of the project are listed in
// package library. It makes no choice of its own either; those are package sim's.
package scenarios
