// Package nri is a model of a node's container runtime as far as NRI and the cloak see
// it: it makes sandboxes and containers in a kernel, asks the plugin that is connected
// before each step, and goes on without it if an answer is late.
//
// What real runtimes do and the model does too: requests are with the plugin one at a
// time, of whichever Pods; one that takes longer than the runtime's limit disconnects the
// plugin; a sandbox that is being created while the plugin connects is in neither
// Synchronize nor a request of its own; and a plugin that is not there fails nothing.
// Package conformance below holds the model against the library of NRI.
//
// Two processes meet here. The runtime's own calls ([Runtime.Start], [Runtime.Stop]) come
// from tasks of one, [Port] belongs to the other, each with a clock of its own.
package nri
