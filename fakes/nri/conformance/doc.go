// Package conformance holds the model in the package nri against the library of NRI that
// container runtimes serve plugins with, github.com/containerd/nri: the same scripts run
// on the model, and over a socket between the library's two sides, and the same is to
// come of them.
//
// It is a module of its own, as the library needs modules that nothing else here needs:
//
//	cd fakes/nri/conformance && go test ./...
package conformance
