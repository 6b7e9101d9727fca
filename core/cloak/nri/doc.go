// Package nri hooks the cloak into the container runtime through NRI, the Node Resource
// Interface of containerd and CRI-O: the runtime asks before a sandbox and before each
// container runs, and waits.
//
// [Plugin] never makes the runtime fail or wait for long. Its handlers have no result,
// so there is no error and no adjustment that they could return; each returns within
// its budget, since one late answer makes the runtime go on without the plugin; and what
// goes wrong in one, be it a panic, is logged and left to the reconciler of Pods.
//
// [Runtime] is the port: in production the ttrpc stub of NRI, in the simulator a model of
// a runtime.
package nri
