// Package kubetest is what core relies on in a kube.Kube whose reads are live, as a suite
// that every implementation passes: the client of the simulator, its API server over
// HTTP, and a real kube-apiserver.
//
// Each case is one sentence that some code in core would break without. What only one
// kind of object does is not here; package fakes/apiserver/conformance has that.
package kubetest
