// Package library is the list of everything built in: the systems that the
// seedbed command knows and their scenario files. A system is added here and
// nowhere else: one line for the system, one for its folder of files.
//
// A program with systems of its own does not need this package; it calls
// scenarios.New with them, and with Systems() if it wants these as well.
package library
