// Package clock is the port through which core code meets time and concurrency.
//
// Code in core never starts a goroutine, makes a channel, selects, or asks the
// operating system for the time. It receives a [Clock] and uses it for all of
// that: [Clock.Now] and [Clock.Sleep] for time, [Clock.WithTimeout] and
// [Clock.WithCancel] for deadlines, [Clock.NewGroup] for tasks of its own, and
// [Clock.NewSignal] for one task to wait on another. That is what lets a
// simulator run the same code in virtual time, one task at a time, and replay a
// run exactly.
//
// The package holds interfaces only. Production binds them to the operating
// system in realmode/clock; the simulator binds them to a simulated process.
// It is not a timer library: a timer is a task of a [Group] that sleeps.
package clock
