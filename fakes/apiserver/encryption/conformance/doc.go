// Package conformance holds the model in the packages encryption, envelope and kms
// against what it is a model of: k8s.io/apiserver, whose transformers, probes and reload
// controller run here as they are, in a bubble of virtual time, beside the model, and
// with the same plugins.
//
// It is a module of its own, as k8s.io/apiserver needs modules that nothing else here
// needs:
//
//	cd fakes/apiserver/encryption/conformance && go test ./...
//
// With -update it writes values that were sealed by k8s.io/apiserver to testdata of the
// package encryption, whose own tests open them.
package conformance
