// Package plane is the port to the data plane: the programs and maps in a node's kernel
// that swap placeholders for values. eBPF serves it in production, a model of the
// kernel in the simulator.
//
// The port is as narrow as its users: [Secrets] for what syncs them, [Pods] for what
// prepares them, [Resolvers] for trusted DNS servers, [Events] for what the kernel has
// to say. A [Plane] is all of it.
//
// Two rules hold for each call. An error leaves what was there, or less: never a wider
// permission. And a call that is repeated comes to the same, so that whoever is not sure
// of an outcome calls again.
package plane
