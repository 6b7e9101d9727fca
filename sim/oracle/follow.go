package oracle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// write is something that was stored.
type write struct {
	apiserver.Written
	key     string // as in the records of the run
	at      time.Duration
	program string // that asked for it; empty if nobody in the simulation did
}

// follower hears of all that is stored, and of who asked for it.
type follower struct {
	world *sim.World
	upto  uint64

	// asked are the requests of programs that were carried out since the last look.
	asked []engine.Record

	live map[string]types.UID
}

// follow begins to follow a world.
func follow(w *sim.World) *follower {
	f := &follower{world: w, live: map[string]types.UID{}}
	w.Engine().OnRecord(func(r engine.Record) {
		if r.Kind == "api" && r.N >= 200 && r.N < 300 && changes(r.Verb) {
			f.asked = append(f.asked, r)
		}
	})
	return f
}

func changes(verb string) bool {
	switch verb {
	case "get", "list", "watch", "error", "retry":
		return false
	}
	return true
}

// next returns what was stored since the last call, the oldest first.
func (f *follower) next() []write {
	written, err := f.world.Store().Since(f.upto)
	f.upto = f.world.Store().Revision()
	defer func() { f.asked = f.asked[:0] }()
	if err != nil { // somebody compacts: the next writes are seen again
		return nil
	}
	now := f.world.Engine().Elapsed()
	all := make([]write, len(written))
	for i := range written {
		w := write{Written: written[i], key: keyOf(&written[i]), at: now}
		if by := slices.IndexFunc(f.asked, func(r engine.Record) bool { return r.Object == w.key || within(w.key, r.Object) }); by >= 0 {
			w.program = f.asked[by].Actor
		}
		if w.Deleted {
			delete(f.live, w.key)
		} else {
			f.live[w.key] = w.Object.GetUID()
		}
		all[i] = w
	}
	return all
}

// keyOf is the key of an object in the records of a run.
func keyOf(w *apiserver.Written) string {
	key := w.Resource.Resource
	if w.Namespace != "" {
		key += "/" + w.Namespace
	}
	return key + "/" + w.Name
}

// within reports whether an object is of a collection, such as configmaps/default.
func within(key, collection string) bool {
	return len(key) > len(collection) && key[:len(collection)] == collection && key[len(collection)] == '/'
}

// housekeeping is what is written all the time, and means nothing.
func housekeeping(gr schema.GroupResource) bool {
	switch gr.Resource {
	case "leases", "events":
		return true
	}
	return false
}
