// Package clocktest is the conformance suite of core/clock: one table of cases
// that every implementation of clock.Clock passes.
//
// An implementation says how to run one body as the first task of a fresh
// process in virtual time:
//
//	clocktest.Run(t, func(t *testing.T, body clocktest.Body) {
//		synctest.Test(t, func(t *testing.T) { body(t.Context(), clock.New()) })
//	})
//
// Durations are compared exactly, so a clock that runs in real time cannot be
// tested with it. A body reports with t.Errorf only and never ends its task by
// force, because in a simulator it does not run on the test's goroutine.
package clocktest
