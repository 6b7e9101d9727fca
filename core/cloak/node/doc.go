// Package node prepares the Pods of one node: it attaches the data plane to their
// networks and their TLS code, and lets their containers use the secrets that they
// refer to.
//
// [Reconciler] does it in two ways that meet in the same state. As a [Preparer] it is
// asked by the container runtime before a sandbox or a container runs, which leaves no
// gap. As a controller of Pods it does what the runtime did not ask for, or what failed
// or took too long then; it also ends what was attached to Pods that are gone.
//
// Whatever happens to one Pod happens in one order. A container is bound to its secrets
// before its TLS code is hooked, and unbound before all else.
package node
