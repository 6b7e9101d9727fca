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

// wings assigns a profile to each tree below the module.
var wings = []struct {
	prefix  string
	profile Profile
}{
	{"core", Core},
	{"sim", Simulated},
	{"fakes", Simulated},
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
)

// exception lets one file break one rule.
type exception struct {
	file string // relative to the module
	rule Rule
	why  string
}

// exceptions lists every place that may break a rule. Core has none, and a test
// keeps it so.
var exceptions = []exception{}

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

func excepted(file string, rule Rule) bool {
	for _, e := range exceptions {
		if e.file == file && e.rule == rule {
			return true
		}
	}
	return false
}
