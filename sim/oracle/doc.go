// Package oracle judges programs without knowing what they are for: by what no controller
// should do, whatever it is a controller of.
//
//	sim.Check(t, options, func(w *sim.World) {
//		…
//		oracle.All(w, 5*time.Minute)
//	})
//
// Each function adds one property to a world, before it runs. They are:
//
//	NothingStaysTerminating  what is being deleted goes, sooner or later
//	OwnersExist              at the end, owner references mean what is there
//	StatusIsCurrent          at the end, no status is about an older spec
//	Rests                    nothing is written when there is nothing to do
//	NoErrorsAtRest           nor is anything refused then
//	NoFights                 no object goes back and forth
//	KnowsWhatItDeletes       nobody deletes what they have never seen
//
// and, of another form, since it needs a run to compare with:
//
//	EndsAsUndisturbed        faults change nothing about the end
//
// What each may be wrong about stands with it: a program may do on purpose what is a
// mistake in nearly all others. Then leave that one out; All is only their sum.
//
// They look at the store itself and at the records of the run, not through caches, so
// that what they see is so. They change nothing, and no hash.
package oracle
