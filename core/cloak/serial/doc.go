// Package serial lets tasks of a process do things one after the other, for each key.
//
// It is a lock that tasks wait for on the clock of their process: a sync.Mutex must not
// be held across a call that may wait, for in a simulation nobody else could run.
package serial
