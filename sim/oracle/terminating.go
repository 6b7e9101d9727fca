package oracle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim"
)

// NothingStaysTerminating says that what is being deleted is gone within a while, counted
// from when faults have ceased: a finalizer whose owner has forgotten it keeps an object,
// and its namespace, for ever.
//
// It is wrong about who waits on purpose, such as for people, with a finalizer.
func NothingStaysTerminating(w *sim.World, within time.Duration) {
	const name, meaning = "nothing-stays-terminating", "What is being deleted goes: else its name cannot be used again, and nor can its namespace."
	f, since := follow(w), map[string]time.Duration{}
	w.Always(name, meaning, func() error {
		for _, n := range f.next() {
			switch {
			case n.Deleted:
				delete(since, n.key)
			case n.Object.GetDeletionTimestamp() != nil:
				if _, known := since[n.key]; !known {
					since[n.key] = n.at
				}
			}
		}
		return stuck(w, since, within)
	})
	w.Finally(name, meaning, func() error {
		return stuck(w, since, within)
	})
}

func stuck(w *sim.World, since map[string]time.Duration, within time.Duration) error {
	now := w.Engine().Elapsed()
	for _, key := range slices.Sorted(maps.Keys(since)) {
		if at := since[key]; now-max(at, w.CeaseAt()) > within {
			return fmt.Errorf("%s has been terminating for %s", key, (now - at).Round(time.Second))
		}
	}
	return nil
}
