package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Divergence is where two runs of one seed part.
type Divergence struct {
	Step          uint64        // the first that differs
	At            time.Duration // in virtual time, in the first run
	First, Second string        // what happened in it, in words; empty if nothing did
	Cause         string        // what that is likely due to
}

func (d *Divergence) String() string {
	first, second := d.First, d.Second
	if first == "" {
		first = "nothing more"
	}
	if second == "" {
		second = "nothing more"
	}
	return fmt.Sprintf("from step %d on, at %s: first %s, and then %s; %s", d.Step, d.At, first, second, d.Cause)
}

// Diverge compares the traces of two runs of one seed, made in this process or in
// another. It returns nil if they are alike, up to what happened to be in objects.
func Diverge(a, b []engine.Record) *Divergence {
	i := 0
	for i < len(a) && i < len(b) && sameRecord(&a[i], &b[i]) {
		i++
	}
	if i == len(a) && i == len(b) {
		return nil
	}
	d := &Divergence{}
	if i < len(b) {
		d.Step, d.At, d.Second = b[i].Step, b[i].At, recordText(&b[i])
	}
	if i < len(a) {
		d.Step, d.At, d.First = a[i].Step, a[i].At, recordText(&a[i])
	}
	d.Cause = likelyCause(a[i:], b[i:])
	return d
}

// sameRecord compares what the hash of a run is made of.
func sameRecord(a, b *engine.Record) bool {
	return a.Step == b.Step && a.At == b.At && a.Kind == b.Kind && a.Actor == b.Actor && a.Verb == b.Verb && a.Object == b.Object && a.N == b.N
}

func recordText(r *engine.Record) string {
	text := strings.Join(slices.DeleteFunc([]string{r.Actor, r.Kind, r.Verb, r.Object}, func(s string) bool { return s == "" }), " ")
	if r.N != 0 {
		text += fmt.Sprintf(" (%d)", r.N)
	}
	return text
}

// Causes, as far as a trace shows them.
const (
	causeOrder   = "the same things come in another order: look for iteration over a map, or a select"
	causeTime    = "the same thing comes at another time: look for time.Now, or a random delay that is not drawn from the run"
	causeName    = "the same thing is done to another object: look for a name that is made of time.Now, of a global random generator or of memory kept from one run to the next, or for iteration over a map"
	causeTask    = "another task goes on: look for a goroutine, a channel, or a lock that is not of the simulation"
	causeAnswer  = "the same thing has another outcome: look for memory kept from one run to the next, or for what it was done with"
	causeUnknown = "look for iteration over a map, time.Now, a global random generator, a goroutine, a select, or memory kept from one run to the next"
)

// window is how far ahead is looked for what comes in another order.
const window = 200

// likelyCause judges by what follows the place where two traces part.
func likelyCause(a, b []engine.Record) string {
	if len(a) == 0 || len(b) == 0 {
		return causeUnknown
	}
	x, y := &a[0], &b[0]
	same := x.Actor == y.Actor && x.Kind == y.Kind && x.Verb == y.Verb
	switch {
	case same && x.Object == y.Object && x.N == y.N: // the time or the step
		return causeTime
	case same && x.Object == y.Object:
		return causeAnswer
	case x.Actor == y.Actor && comes(b, x) && comes(a, y):
		return causeOrder
	case same:
		return causeName
	case x.Actor != y.Actor && comes(b, x) && comes(a, y):
		return causeTask
	}
	return causeUnknown
}

// comes reports whether the like of r comes soon, at whatever time.
func comes(in []engine.Record, r *engine.Record) bool {
	return slices.ContainsFunc(in[:min(len(in), window)], func(o engine.Record) bool {
		return o.Actor == r.Actor && o.Kind == r.Kind && o.Verb == r.Verb && o.Object == r.Object
	})
}
