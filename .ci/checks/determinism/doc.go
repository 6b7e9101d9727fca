// Package determinism is the analyzer behind seedbedvet: it refuses code whose
// outcome could differ between two runs of the same seed.
//
// Replay is exact only if everything that a run depends on comes from its one
// choice source. The compiler does not know that, so this analyzer holds the
// line in three [Profile]s, chosen by import path (policy.go):
//
//   - core: no goroutine, channel, real time, operating system, randomness of
//     its own, visible map order, or state that would survive a crash.
//   - simulated (sim, fakes, scenarios): no real time, global randomness or
//     visible map order, and a go statement only in files named in policy.go.
//   - free: everything else.
//
// Test files are exempt. No comment switches a rule off; an exception is a line
// in policy.go with its reason, and core has none.
//
// # How map order is judged
//
// Ranging over a map is allowed when the body provably comes to the same result
// in any order. orderfree.go reads the body statement by statement and accepts
// deletes, writes keyed by the loop's own key, integer counting, flags set to
// one constant, minima and maxima, and slices that are sorted before anything
// else looks at them; pure.go decides which calls are free of effects. Anything
// it does not understand is refused with the reason, and the way out is always
// the same: range over slices.Sorted(maps.Keys(m)).
//
// Two assumptions are not proved: that a comparison given to a sort is total on
// the elements, and that getters without arguments have no effects.
package determinism
