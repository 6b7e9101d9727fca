// Package switches turns mutants on and off. Only files that package mutation generates
// import it, from whatever package they stand in; so it imports nothing of the module and
// is not internal. It is of no use without them.
//
// One mutant is on in a process, or none. Which sites were come by is remembered, so that a
// mutant is only tried on what comes by its site. Everything may be called from any goroutine.
package switches
