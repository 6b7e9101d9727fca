// Package grantpod is the cluster around a grant Pod, as far as its home sees it: Pods,
// Namespaces and the metadata of ResourceClaims, in memory.
//
// It is for tests that need no API server. It keeps no history and serves no watch;
// where it and a real kube-apiserver differ in what it does serve, it is wrong. Reads
// see every write before them.
//
// What goes wrong is told in advance, as a queue of faults per call: see [Kube.Fail].
// It is passive: time passes only where a fault says so, on the clock that it is given.
package grantpod
