// Package explore decides which runs to make in order to find the one that breaks.
//
// It makes no run itself. A [Search] proposes runs and is told what came of them:
//
//	for runs := search.Next(n); len(runs) > 0; runs = search.Next(n) {
//		… make them, side by side, each with run.Source() and a Coverage of its own …
//		search.Learn(seen)
//	}
//
// What a search proposes depends on nothing but what it was made from and what it was
// told, in the order in which it has proposed it: so the same search gives the same
// runs, on any number of workers.
//
// The searches are Random (a strategy per seed), Systematic (a plan at every place of a
// reference run), Exhaustive (every history within a bound) and Guided (changes of runs
// that have shown something new). What they are made of:
//
//	Selection  which searches, as somebody has named them; New makes them
//	Strategy   how the tasks of one run are scheduled, and with which faults: one entry
//	           of the list in strategies.go each
//	Plan       one kind of trouble and where it may strike
//	Coverage   what one run has shown, in a form that is cheap to take: the states of
//	           the cluster and the edges between what its components did
//	Map        what many runs have shown together
package explore
