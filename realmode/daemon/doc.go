// Package daemon is what the programs that ship have in common: how they start and
// end, what they say of themselves, and where they are told what to do.
//
//	main.go      Main: signals, and the exit code: 0 told to stop, 1 failed, 2 told wrongly
//	usage.go     errors that are about what the program was told
//	version.go   what was built, from what
//	logs.go      where logs go and how they look
//	settings.go  a file that says what flags say, by the same names
//	serve.go     /healthz, /readyz and /metrics
//
// What a program is told it is told by flags, or by a file with the same names. One line
// says what is wrong with that, and names the file, the line and the field.
//
// The package knows no cluster; package kube of realmode does.
package daemon
