// Package mutant plants bugs into programs, to show that a property catches
// them: a property that no bug can violate says nothing.
//
// A [Mutant] is one edit of one source file. [Plant] writes copies of the files
// in which each edited function exists several times, once as it is and once for
// each bug; which one runs is read from the environment when the program starts:
//
//	ring.go    func ApplyKeys(…)   ->   func ApplyKeys(…)            asks the environment
//	                                    func ApplyKeys_asWritten(…)  the original
//	                                    func ApplyKeys_noFlip(…)     with a bug
//
// [Build] builds a program with those copies by way of the go command's -overlay
// flag. One build holds all bugs, and no file of the tree is touched, nor does
// code that ships know of any of this.
//
// The package runs nothing; the command in folder runner runs a scenario until
// it is violated.
package mutant
