// Package leaks finds secrets where they should not be: in logs, events, conditions
// and whatever else people read.
//
// An [Index] is told every secret of a run, and says of any text whether it gives a
// piece of one away, and in which of the many ways in which a program may print bytes.
// [Log] has a process's log read as it is written, [Records] the trace of a run as it is
// made, [Objects] reads what is in the API, and [Object] one object of it.
package leaks
