// Package fidelity holds the fake API server against a real one.
//
// [NewFake] is the fake as a target of recorded cases: set up as the server was
// that they were recorded from. [NewFullFake] has the controllers of
// kube-controller-manager beside it.
//
// What runs here are comparisons, in real time and with goroutines that read
// watches. No simulation has a part in it.
package fidelity
