package oracle

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim"
)

// All adds every oracle that needs nothing but the world: settle is how long programs may
// take, once faults have ceased and nobody asks for anything, until they have done what
// there is to do.
func All(w *sim.World, settle time.Duration) {
	NothingStaysTerminating(w, settle)
	OwnersExist(w)
	StatusIsCurrent(w)
	Rests(w, settle)
	NoErrorsAtRest(w, settle)
	NoFights(w)
	KnowsWhatItDeletes(w)
}
