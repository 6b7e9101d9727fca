package fidelity

import (
	"regexp"
	"strings"
	"sync"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// A KnownDifference is one between the fake and a real server that is accepted.
type KnownDifference struct {
	Reason string
	// Match tells whether a difference in the answer to a step is of this kind.
	Match func(s *conformance.Step, d conformance.Difference) bool
}

// KnownDifferences is a list of them that counts how often each was met. It may
// be used by several goroutines at once.
type KnownDifferences struct {
	list []KnownDifference

	mu  sync.Mutex
	met []int
}

// Known returns the differences that are accepted, none of them met yet.
func Known() *KnownDifferences { return newKnown(knownDifferences) }

func newKnown(list []KnownDifference) *KnownDifferences {
	return &KnownDifferences{list: list, met: make([]int, len(list))}
}

// knownDifferences is everything in which the fake is allowed to differ.
var knownDifferences = []KnownDifference{
	{
		Reason: "a column of a table tells an age in seconds, and the clocks of two servers are not read at the same instant",
		Match: func(_ *conformance.Step, d conformance.Difference) bool {
			return strings.Contains(d.Field, ".cells[") && age.MatchString(d.Want) && age.MatchString(d.Got)
		},
	},
	{
		Reason: "the text of this error dumps a Go structure or a patched object, which depends on private types of the server",
		Match: func(_ *conformance.Step, d conformance.Difference) bool {
			return d.Soft && beforeDump(d.Want) == beforeDump(d.Got) && beforeDump(d.Want) != d.Want
		},
	},
	{
		Reason: "which of several things that do not fit its schema an apply is refused for depends on the order of a map",
		Match: func(_ *conformance.Step, d conformance.Difference) bool {
			return d.Soft && misfit.MatchString(d.Want) && misfit.FindString(d.Want) == misfit.FindString(d.Got)
		},
	},
	{
		Reason: "which addresses a server gives to services is said by a flag of its own",
		Match: func(_ *conformance.Step, d conformance.Difference) bool {
			return addressRange.MatchString(d.Want) && addressRange.ReplaceAllString(d.Want, "") == addressRange.ReplaceAllString(d.Got, "")
		},
	},
	{
		Reason: "which node port a service gets is drawn, and shows where two ports would get the same",
		Match: func(_ *conformance.Step, d conformance.Difference) bool {
			return drawnPort.MatchString(d.Want) && drawnPort.MatchString(d.Got)
		},
	},
	{
		Reason: "watches that show tables share what is encoded for them, and whether one tells the columns again depends on which of them is ahead",
		Match: func(_ *conformance.Step, d conformance.Difference) bool {
			return strings.HasPrefix(d.Field, "events[") && strings.HasSuffix(d.Field, ".columnDefinitions") && (d.Got == "null" || d.Want == "null")
		},
	},
	{
		Reason: "a limit range without a name is called by a UUID, which is drawn",
		Match: func(_ *conformance.Step, d conformance.Difference) bool {
			return strings.HasSuffix(d.Field, "metadata.name") && uuid.MatchString(d.Want) && uuid.MatchString(d.Got)
		},
	},
}

var uuid = regexp.MustCompile(`^"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"$`)

var drawnPort = regexp.MustCompile(`^Duplicate value: 3[0-2]\d{3}$`)

var addressRange = regexp.MustCompile(`The range of valid IPs is [0-9./]+`)

var misfit = regexp.MustCompile(`^failed to create typed patch object \([^)]*\): `)

var age = regexp.MustCompile(`^"\d+s"$`)

func beforeDump(s string) string {
	if i := strings.IndexAny(s, "{\n"); i >= 0 {
		return s[:i]
	}
	return s
}

// without returns the differences that are not known. A nil list knows none.
func (k *KnownDifferences) without(s *conformance.Step, diffs []conformance.Difference) []conformance.Difference {
	if k == nil || len(diffs) == 0 {
		return diffs
	}
	var left []conformance.Difference
	for _, d := range diffs {
		if !k.matches(s, d) {
			left = append(left, d)
		}
	}
	return left
}

func (k *KnownDifferences) matches(s *conformance.Step, d conformance.Difference) bool {
	for i := range k.list {
		if k.list[i].Match(s, d) {
			k.mu.Lock()
			k.met[i]++
			k.mu.Unlock()
			return true
		}
	}
	return false
}

// Stale returns the reasons of the differences that were not met: they may be
// gone.
func (k *KnownDifferences) Stale() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []string
	for i, n := range k.met {
		if n == 0 {
			out = append(out, k.list[i].Reason)
		}
	}
	return out
}
