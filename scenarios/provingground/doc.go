// Package provingground is where the search for bugs is measured: public bugs of
// Kubernetes, of operators and of node agents, each as a small reconciler of our own
// that has the bug, and a twin that has its repair and differs in nothing else.
//
// Each bug is a system with one property and two scenario files: the bug's own, which
// expects the violation, and its twin's in the folder fixed, which expects none. Both
// tell what users do and nothing else. They name no fault and no moment: trouble comes
// from the profile stormy, the same for all, or from the search itself.
//
//	bug.go         what a bug consists of, and the list of all
//	bugs_*.go      the bugs, by what they have in common
//	ground.go      what a bug plays on; operator.go, kubelet.go: what several share
//	works.go       what repaired controllers must have done in the end, beside the property of their bug
//	search.go      looks for a bug in one way; table.go: in all, and writes README.md
//
// The tables in README.md are made by make provingground and never by hand.
package provingground
