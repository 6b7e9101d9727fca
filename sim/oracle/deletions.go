package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// KnowsWhatItDeletes says that no program deletes an object that it has never seen since
// it was started: it means another one, which had the same name. Deletion by name alone
// needs the precondition that the UID is the one that was seen.
//
// It is wrong about who deletes by a name that is theirs alone, whoever has made what is
// there. It misses deletions by who was shown the object and has forgotten it, and takes
// what an API server that lags has shown for what there is.
func KnowsWhatItDeletes(w *sim.World) {
	d := &deletions{follower: follow(w), known: map[string]map[types.UID]bool{}}
	w.Engine().OnRecord(d.hear)
	w.Always("knows-what-it-deletes", "Who deletes by name what was made meanwhile under the same name takes away what somebody else needs.", d.look)
}

type deletions struct {
	*follower
	known   map[string]map[types.UID]bool // by program
	deletes []engine.Record               // since the last look
	shown   []engine.Record               // to programs, since then
}

// hear takes in what a program is shown, and what it deletes.
func (d *deletions) hear(r engine.Record) {
	switch {
	case r.Kind == "proc" && r.Verb == "start":
		d.known[r.Actor] = nil
	case r.Kind == "watch" && r.Object != "", r.Kind == "api" && r.N >= 200 && r.N < 300 && r.Verb != "delete":
		d.learn(r.Actor, r.Object)
		d.shown = append(d.shown, r)
	case r.Kind == "api" && r.N >= 200 && r.N < 300:
		d.deletes = append(d.deletes, r)
	}
}

// learn notes that a program has seen what there is under a key, or in a collection.
func (d *deletions) learn(program, key string) {
	if d.known[program] == nil {
		d.known[program] = map[types.UID]bool{}
	}
	if uid, ok := d.live[key]; ok {
		d.known[program][uid] = true
		return
	}
	for other, uid := range d.live { // a set
		if within(other, key) {
			d.known[program][uid] = true
		}
	}
}

func (d *deletions) look() error {
	defer func() { d.deletes, d.shown = d.deletes[:0], d.shown[:0] }()
	for _, n := range d.next() {
		if !n.Deleted && n.Object.GetDeletionTimestamp() == nil {
			continue
		}
		uid := n.Object.GetUID()
		for i := range d.deletes {
			if r := &d.deletes[i]; r.Object == n.key && !d.known[r.Actor][uid] {
				return fmt.Errorf("%s deletes %s, %s, which it has never seen", r.Actor, n.key, uid)
			}
		}
	}
	for i := range d.shown { // what was made in this step is seen by who has made it
		d.learn(d.shown[i].Actor, d.shown[i].Object)
	}
	return nil
}

// names lists a set.
func names(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), " and ")
}
