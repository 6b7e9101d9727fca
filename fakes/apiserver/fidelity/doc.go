// Package fidelity holds the fake API server against a real one.
//
// [NewFake] is the fake as a target of recorded cases: set up as the server was
// that they were recorded from. [NewFullFake] has the controllers of
// kube-controller-manager beside it.
//
// [Explore] looks for differences that no case shows. The flow is
//
//	Calls ──► a case without expectations ──► Comparison: real server, then fake,
//	                                             │        step by step
//	            what the real server answered,   │
//	            as expectations of the case      ▼
//	                               Divergence: the first step that differs
//	                                             │ Shrink
//	                                             ▼
//	                                CaseOf: a case file
//
// What differs from run to run is replaced by symbols as in recorded cases; see
// [conformance.Recorder]. A difference that is accepted stands in known.go, with
// the reason, and is reported when no run meets it any more. A call that the fake
// refuses with 501, naming what it does not model, ends a sequence and is counted
// apart.
//
// What runs here are comparisons, in real time and with goroutines that read
// watches. No simulation has a part in it.
package fidelity
