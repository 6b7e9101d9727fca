package oracle

import (
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// resting knows since when there is nothing to do: faults have ceased, and nobody outside
// of the programs has written anything.
type resting struct {
	*follower
	settle  time.Duration
	outside time.Duration // when somebody outside wrote last
}

func rest(w *sim.World, settle time.Duration) *resting {
	return &resting{follower: follow(w), settle: settle}
}

// since is how long there has been nothing to do beyond the time to settle; zero or less
// if it has not been that long.
func (r *resting) since() time.Duration {
	return r.world.Engine().Elapsed() - max(r.outside, r.world.CeaseAt()) - r.settle
}

// Rests says that programs write nothing once there has been nothing to do for settle:
// neither faults nor writes from outside of them. A program that goes on writing wakes
// all others that watch, and never lets a cluster be idle. Leases and events may be
// written.
//
// It is wrong about who does something for no other reason than that time passes: TTLs,
// schedules, rotations, reports of health.
func Rests(w *sim.World, settle time.Duration) {
	r, counts := rest(w, settle), map[string]int{}
	w.Always("rests", "Nothing is written when there is nothing to do: else nobody who watches is ever idle.", func() error {
		for _, n := range r.next() {
			switch {
			case n.program == "":
				r.outside = n.at
				clear(counts)
			case !housekeeping(n.Resource) && r.since() > 0:
				counts[n.program+" writes "+n.key]++
			}
		}
		// Once may be the last of what was to be done.
		if len(counts) > 0 {
			if worst := most(counts); counts[worst] > 1 {
				return fmt.Errorf("%s, %d times since there is nothing to do", worst, counts[worst])
			}
		}
		return nil
	})
}

// NoErrorsAtRest says that no request fails, again and again, once there has been nothing
// to do for settle: somebody tries in vain what nobody else will change. That something is
// not found is no failure of who asks for it.
//
// It is wrong about who finds out by trying, such as whether a kind is served.
func NoErrorsAtRest(w *sim.World, settle time.Duration) {
	const name, meaning = "no-errors-at-rest", "What fails when there is nothing to do fails for ever, and nobody looks at logs."
	r, counts := rest(w, settle), map[string]int{}
	w.Engine().OnRecord(func(rec engine.Record) {
		if rec.Kind != "api" || r.since() <= 0 || rec.N < 400 || rec.N == 404 && !changes(rec.Verb) {
			return
		}
		counts[fmt.Sprintf("%s: %s %s is answered with %d", rec.Actor, rec.Verb, rec.Object, rec.N)]++
	})
	w.Always(name, meaning, func() error {
		for _, n := range r.next() {
			if n.program == "" {
				r.outside = n.at
				clear(counts)
			}
		}
		return nil
	})
	w.Finally(name, meaning, func() error {
		if len(counts) == 0 {
			return nil
		}
		if worst := most(counts); counts[worst] > failuresMax {
			return fmt.Errorf("%s, %d times since there is nothing to do", worst, counts[worst])
		}
		return nil
	})
}

// failuresMax is how often something may fail at rest: conflicts of what was under way.
const failuresMax = 2
