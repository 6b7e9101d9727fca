package determinism

import "strings"

// Module is the import path all policy is relative to.
const Module = "github.com/seedbed-sim/seedbed"

// Profile is how strictly a package is held to determinism.
type Profile uint8

// A rule applies to a set of profiles, so they are bits.
const (
	Free      Profile = 0
	Core      Profile = 1 << iota // production logic: meets the world through ports only
	Simulated                     // engine, fakes, scenarios: part of a run, but may drive it
	anywhere  = Core | Simulated
)

// wings assigns a profile to each tree below the module; the first that fits
// counts.
var wings = []struct {
	prefix  string
	profile Profile
}{
	{"core", Core},
	{"fakes/apiserver/conformance", Free}, // asks a real API server the same questions; no part of a run
	{"fakes/apiserver/fidelity", Free},    // likewise
	{"sim/live", Free},                    // lets clients of the real world into a run, which keeps what they do as its inputs
	{"sim/unmodified", Free},              // runs programs with goroutines of their own, in a bubble with a clock of its own
	{"sim", Simulated},
	{"fakes", Simulated},
	{"scenarios/serve", Free}, // the sockets in front of such a run
	{"scenarios", Simulated},
}

// Rule names one kind of nondeterminism; findings end with it in brackets.
type Rule string

// The rules.
const (
	RuleGo      Rule = "go"      // starts a goroutine
	RuleChannel Rule = "channel" // uses a channel or blocks outside the clock's knowledge
	RuleTime    Rule = "time"    // reads or waits on real time
	RuleRandom  Rule = "random"  // draws randomness that nobody handed in
	RuleHost    Rule = "host"    // touches the operating system or the network
	RuleOrder   Rule = "order"   // lets the order of a map show
	RuleAddress Rule = "address" // lets a memory address or the garbage collector show
	RuleState   Rule = "state"   // keeps state outside any process
	RuleFloat   Rule = "float"   // computes another last bit on another processor
)

// exception lets one function, or a whole file, break one rule.
type exception struct {
	file string // relative to the module
	fn   string // Func or Type.Method; empty for the whole file
	rule Rule
	why  string
}

// exceptions lists every place that may break a rule. Core has none, and a test
// keeps it so.
var exceptions = []exception{
	{"sim/engine/watchdog.go", "", RuleGo, "watches a run from outside, for a task that never yields"},
	{"sim/engine/watchdog.go", "", RuleTime, "the time that such a task takes is real"},
	{"sim/explore.go", "parallel", RuleGo, "runs are independent of each other; each has one goroutine"},
	{"sim/failure.go", "Options.shrink", RuleTime, "the time spent on shrinking is real"},
	{"scenarios/explore.go", "Registry.Run", RuleGo, "runs are independent of each other; each has one goroutine"},
	{"scenarios/exploring.go", "explorer.makeAll", RuleGo, "runs are independent of each other; each has one goroutine"},
	{"scenarios/exploring.go", "", RuleTime, "the time spent on exploring is real"},
	{"scenarios/mutation/hunt.go", "Target.Score", RuleGo, "programs that try mutants are independent of each other"},
	{"scenarios/mutation/hunt.go", "hunter.run", RuleTime, "the time that a mutant may take is real"},
	{"sim/explore/coverage.go", "Coverage.Order", RuleOrder, "a sum of hashes"},
	{"sim/cluster/reflector.go", "reflector.collect", RuleOrder, "informer.replace sorts what it is handed"},

	{"fakes/apiserver/client/kind.go", "typesOf", RuleAddress, "a cache of types by scheme; what is found does not depend on what was collected"},
	{"fakes/apiserver/client/watch.go", "Client.Watch", RuleGo, "only on a server that is called directly, which no run does"},
	{"fakes/apiserver/rest/handler.go", "New", RuleTime, "only the default, for use over HTTP"},
	{"fakes/apiserver/rest/watch.go", "", RuleTime, "timeouts of real HTTP requests"},
	{"fakes/apiserver/rest/transport.go", "watchBody.send", RuleTime, "a client behind a real socket that takes nothing is given up"},
	{"fakes/apiserver/store/view.go", "View.rouse", RuleOrder, "Store.flush sorts the cursors by number before it wakes them"},
	{"fakes/apiserver/patch/typed.go", "mergeStruct", RuleOrder, "each key is another field, and what was begun is dropped if one fails"},
	{"fakes/apiserver/patch/typed.go", "mergeMap", RuleOrder, "each key is another element, and what was begun is dropped if one fails"},
	{"fakes/apiserver/shape/trace.go", "plainMembers", RuleOrder, "it is handed comparisons only"},
	{"fakes/apiserver/shape/trace.go", "plainGrew", RuleOrder, "it is handed comparisons only"},
	{"fakes/apiserver/shape/values.go", "equalMaps", RuleOrder, "it is handed comparisons only"},
	{"fakes/apiserver/shape/assign.go", "adoptJSON", RuleOrder, "each call changes only what is below its key"},
	{"fakes/apiserver/tokens/tokens.go", "sign", RuleRandom, "without a source of randomness Sign draws none: signatures follow RFC 6979"},

	{"fakes/gossip/pushpull.go", "", RuleFloat, "memberlist's formula; exact at powers of two, elsewhere far from a whole number"},
}

func profileOf(importPath string) Profile {
	rel := relative(importPath)
	for _, w := range wings {
		if rel == w.prefix || strings.HasPrefix(rel, w.prefix+"/") {
			return w.profile
		}
	}
	return Free
}

func relative(importPath string) string {
	rel, ok := strings.CutPrefix(importPath, Module+"/")
	if !ok {
		return ""
	}
	return rel
}

func excepted(file, fn string, rule Rule) bool {
	for _, e := range exceptions {
		if e.file == file && e.rule == rule && (e.fn == "" || e.fn == fn) {
			return true
		}
	}
	return false
}
