// Package mutation measures how strong oracles are: it breaks code in every small way that
// it knows, one way at a time, and counts how much of that the properties and tests of
// the code notice.
//
//	sites.go      where code can be broken: found by its syntax
//	schema.go     copies of the files in which each way waits for a switch
//	plant.go      an overlay of those copies, and the programs built with it
//	hunt.go       one program run for each mutant, until something catches it
//	table.go      the score; survivors.go: what nothing catches, and why
//	targets.go    the packages that are measured
//
// Unlike package scenarios/internal/mutant, where a person plants the bugs that one
// property is to catch, nobody chooses here. What survives is listed in the package's
// survivors.txt, each mutant in one line with the reason: that it changes nothing
// that matters, or which oracle is missing.
//
// One build holds all mutants of a package: the copies call package switches, which the
// tree itself does not. No file of the tree is touched, and code that ships knows nothing
// of this.
package mutation
