package state_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

var all = []schema.GroupResource{secrets, configMaps, widgets}

// world is a cluster whose API servers all run the deployed state.
type world struct {
	deployed state.State
	keys     []state.Key
	grs      []schema.GroupResource
	lastID   uint64
	given    []uint64 // up
	wasGiven []uint64 // ever

	// sealed is the key that an object of each resource may be encrypted with;
	// zero stands for none.
	sealed map[schema.GroupResource]map[uint64]bool
}

// step rolls out the desired state, or migrates, and checks that whoever still
// runs the state before gets along with whoever runs the next.
func (w *world) step(t *rapid.T) {
	if len(w.grs) == 0 {
		return // the last configuration stays
	}
	w.forget()
	next, phase := w.desired()
	if next.Equal(w.deployed) {
		w.migrate(phase)
		w.honest(t)
		return
	}
	for i := range next {
		w.adjacent(t, w.deployed.Find(next[i].GroupResource), &next[i])
	}
	for _, gr := range all {
		r := next.Find(gr)
		if r == nil {
			r = &state.Resource{GroupResource: gr}
		}
		for id := range w.sealed[gr] {
			if id != 0 && !slices.ContainsFunc(r.Read, func(k state.Key) bool { return k.ID == id }) {
				t.Fatalf("%s: %s may be encrypted with key %d, which is read no longer: %s", phase, gr, id, ids(r.Read))
			}
		}
	}
	w.deployed = bare(next)
	w.write()
	w.honest(t)
}

// bare returns what a configuration tells of a state: not what has become of keys.
func bare(s state.State) state.State {
	strip := func(k state.Key) state.Key { return state.Key{ID: k.ID, Mode: k.Mode, Material: k.Material} }
	out := s.Enriched(nil)
	for i := range out {
		for j, k := range out[i].Read {
			out[i].Read[j] = strip(k)
		}
		if out[i].Write != nil {
			*out[i].Write = strip(*out[i].Write)
		}
	}
	return out
}

// desired is what should be deployed.
func (w *world) desired() (state.State, state.Phase) {
	for i := range w.keys {
		w.keys[i].GivenUp = slices.Contains(w.given, w.keys[i].ID)
	}
	return state.Desired(w.deployed.WithGivenUp(w.given), w.keys, w.grs)
}

// forget is what the State controller does before anything else.
func (w *world) forget() {
	for i := range w.keys {
		migrated, decrypted := state.Outdated(w.keys[i], w.deployed, w.grs)
		w.keys[i].Migrated.Resources = without(w.keys[i].Migrated.Resources, migrated)
		w.keys[i].Decrypted = without(w.keys[i].Decrypted, decrypted)
	}
}

func without(grs, others []schema.GroupResource) []schema.GroupResource {
	return slices.DeleteFunc(slices.Clone(grs), func(gr schema.GroupResource) bool { return slices.Contains(others, gr) })
}

// newest is the place of the newest key that is not given up, or else of the newest; -1
// if there is none.
func (w *world) newest() int {
	newest := -1
	for i := range w.keys {
		if newest < 0 || w.keys[newest].GivenUp && !w.keys[i].GivenUp ||
			w.keys[newest].GivenUp == w.keys[i].GivenUp && w.keys[i].ID > w.keys[newest].ID {
			newest = i
		}
	}
	return newest
}

// migrate rewrites all objects of one resource that is not yet, if there is one.
func (w *world) migrate(phase state.Phase) {
	newest := w.newest()
	for i := range w.deployed {
		r := &w.deployed[i]
		gr := r.GroupResource
		switch {
		case newest < 0:
		case !slices.Contains(w.grs, gr):
			if r.Plainly() && !state.Decrypted(gr, w.keys) {
				w.sealed[gr] = map[uint64]bool{0: true}
				w.keys[newest].Decrypted = append(w.keys[newest].Decrypted, gr)
				return
			}
		case phase == state.Migrating && !w.keys[newest].Migrated.Has(gr):
			w.sealed[gr] = map[uint64]bool{w.writes(r): true}
			w.keys[newest].Migrated.Resources = append(w.keys[newest].Migrated.Resources, gr)
			return
		}
	}
}

// writes is the id that objects are encrypted with; zero if they are not.
func (w *world) writes(r *state.Resource) uint64 {
	if r.Plainly() {
		return 0
	}
	return r.Write.ID
}

// honest checks that what the key that writes is noted to be migrated for is so.
func (w *world) honest(t *rapid.T) {
	deployed := w.deployed.Enriched(w.keys)
	for i := range deployed {
		r := &deployed[i]
		wroteBefore := func(k state.Key) bool { return k.ID > r.Write.ID && slices.Contains(w.wasGiven, k.ID) }
		if r.HasWriteKey() && slices.ContainsFunc(r.Read, wroteBefore) {
			continue // that one may have encrypted something, and is read until a later one is migrated
		}
		if !r.HasWriteKey() || !r.Write.Migrated.Has(r.GroupResource) || !slices.Contains(w.grs, r.GroupResource) {
			continue
		}
		for id := range w.sealed[r.GroupResource] {
			if id != w.writes(r) {
				t.Fatalf("%s is noted to be migrated to key %d, and may be encrypted with key %d", r.GroupResource, r.Write.ID, id)
			}
		}
	}
}

// adjacent checks the step from one state of a resource to the next.
func (w *world) adjacent(t *rapid.T, from, to *state.Resource) {
	if from == nil {
		from = &state.Resource{}
	}
	var changes []string
	has := func(keys []state.Key, k state.Key) bool { return slices.ContainsFunc(keys, k.Equal) }
	if slices.ContainsFunc(to.Read, func(k state.Key) bool { return !has(from.Read, k) }) {
		changes = append(changes, "read more")
	}
	if slices.ContainsFunc(from.Read, func(k state.Key) bool { return !has(to.Read, k) }) {
		changes = append(changes, "read less")
	}
	if to.HasWriteKey() && (!from.HasWriteKey() || !from.Write.Equal(*to.Write)) {
		changes = append(changes, "write differently")
		if !has(from.Read, *to.Write) {
			t.Fatalf("%s is written with key %d, which who runs the state before cannot read: %s", to.GroupResource, to.Write.ID, ids(from.Read))
		}
	}
	if len(changes) > 1 {
		t.Fatalf("%s: API servers are to %s at once", to.GroupResource, strings.Join(changes, " and "))
	}
	if to.HasWriteKey() && !has(to.Read, *to.Write) {
		t.Fatalf("%s is written with key %d and not read with it", to.GroupResource, to.Write.ID)
	}
}

// write lets every resource have an object encrypted as it is now.
func (w *world) write() {
	for i := range w.deployed {
		r := &w.deployed[i]
		if w.sealed[r.GroupResource] == nil {
			w.sealed[r.GroupResource] = map[uint64]bool{}
		}
		w.sealed[r.GroupResource][w.writes(r)] = true
	}
}

// mourn forgets the objects whose keys are nowhere any more.
func (w *world) mourn() {
	for _, sealed := range w.sealed {
		for id := range sealed {
			is := func(k state.Key) bool { return k.ID == id }
			if id != 0 && !slices.ContainsFunc(w.keys, is) && !slices.ContainsFunc(w.deployed.ReadKeys(), is) {
				delete(sealed, id)
			}
		}
	}
}

// TestNoStepIsUnsafe walks through random lives of keys, in which Secrets of keys
// are deleted, keys given up and taken back, resources come and go, and the configuration
// is lost.
func TestNoStepIsUnsafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{grs: []schema.GroupResource{secrets}, sealed: map[schema.GroupResource]map[uint64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"next": w.step,
			"add a key": func(t *rapid.T) {
				dead := len(w.keys) > 0 && slices.Contains(w.given, state.NewestFirst(w.keys)[0].ID)
				if _, phase := w.desired(); phase != state.Settled && phase != state.Waiting && !dead {
					t.Skip("the cycle of the last is not over")
				}
				w.lastID++
				k := key(w.lastID)
				if rapid.IntRange(0, 3).Draw(t, "identity") == 0 {
					k.Mode, k.Material = state.Identity, state.NoMaterial()
				}
				w.keys = append(w.keys, k)
			},
			"give a key up": func(t *rapid.T) {
				if len(w.keys) == 0 {
					t.Skip("there is none")
				}
				id := rapid.SampledFrom(w.keys).Draw(t, "which").ID
				if i := slices.Index(w.given, id); i >= 0 {
					w.given = slices.Delete(w.given, i, i+1) // its plugin is back
				} else {
					w.given, w.wasGiven = append(w.given, id), append(w.wasGiven, id)
				}
			},
			"delete a Secret": func(t *rapid.T) {
				if len(w.keys) == 0 || rapid.IntRange(0, 3).Draw(t, "really") != 0 {
					t.Skip("there is none, or not now")
				}
				i := rapid.IntRange(0, len(w.keys)-1).Draw(t, "which")
				w.keys = slices.Delete(w.keys, i, i+1)
				w.mourn()
			},
			"add a resource": func(t *rapid.T) {
				gr := rapid.SampledFrom(all).Draw(t, "resource")
				if slices.Contains(w.grs, gr) {
					t.Skip("it is there")
				}
				w.grs = append(w.grs, gr)
			},
			"remove a resource": func(t *rapid.T) {
				gr := rapid.SampledFrom(all).Draw(t, "resource")
				if !slices.Contains(w.grs, gr) || w.deployed == nil {
					t.Skip("it is not there, or nothing tells that it was")
				}
				w.grs = without(w.grs, []schema.GroupResource{gr})
			},
			"lose the configuration": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "really") != 0 {
					t.Skip("not now")
				}
				if len(without(w.deployed.Resources(), w.grs)) > 0 {
					t.Skip("what is lost of a resource that leaves comes back only with the resource")
				}
				for _, gr := range w.deployed.Resources() {
					w.sealed[gr][0] = true
				}
				w.deployed = nil
				w.mourn()
			},
			"": func(*rapid.T) {},
		})
	})
}
