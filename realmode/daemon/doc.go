// Package daemon is what the programs that ship have in common: how they start and
// end, what they say of themselves, and where they are told what to do.
//
//	main.go       from arguments to an exit code: 0 told to stop, 1 failed, 2 told wrongly
//	configure.go  a configuration file whose fields are the flags
//	logs.go       where logs go and how they look
//	endpoints.go  /healthz, /readyz and /metrics
//
// What a program is told it is told by flags, or by a file with the same names. One line
// says what is wrong with that, and names the file, the line and the field.
//
// The package knows no cluster; package kube of realmode does.
package daemon
