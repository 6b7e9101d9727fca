// Package secret has a type for bytes that must not be seen.
//
// What is in a [Bytes] does not show in logs, errors, traces, reports or the
// output of a failed test, however it gets there. It is no protection against
// code that wants the bytes: [Bytes.Reveal] gives them to anybody.
package secret
