// Package state is the arithmetic of encryption at rest: which keys the API
// servers of a cluster should write and read with next.
//
//	key.go      a key, and what has become of it
//	state.go    which keys write and read each resource
//	desired.go  the next state
//	leaving.go  what becomes of resources that should be encrypted no longer
//
// Data flow one way. Secrets and the deployed configuration are read into keys
// and a [State] by the packages that know their formats; [Desired] says which
// state comes next; that is written as a configuration and rolled out. A key so
// passes through its phases, each behind a rollout to every API server:
//
//	read by all → written by all → all objects rewritten → older keys dropped
//
// The package is pure: it reads no clock and makes no requests, and the same
// input gives the same output, in the same order. It does not know whether API
// servers agree on what they run; callers ask only when they do.
package state
