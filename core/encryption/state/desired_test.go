package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

var (
	secrets    = schema.GroupResource{Resource: "secrets"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
	widgets    = schema.GroupResource{Group: "example.com", Resource: "widgets"}
)

func key(id uint64, migrated ...schema.GroupResource) state.Key {
	return state.Key{
		ID: id, Mode: state.AESCBC, Backed: true, Migrated: state.Migrated{Resources: migrated},
		Material: secret.New(slices.Repeat([]byte{byte(id)}, state.MaterialSize)),
	}
}

func ids(keys []state.Key) string {
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprint(k.ID))
	}
	return strings.Join(out, " ")
}

func TestRetained(t *testing.T) {
	both := []schema.GroupResource{secrets, configMaps}
	for _, c := range []struct {
		name string
		grs  []schema.GroupResource
		keys []state.Key
		want string
	}{
		{"nothing was ever migrated", both, []state.Key{key(3), key(2), key(1)}, "3 2 1"},
		{"the newest has it all", both, []state.Key{key(3, both...), key(2, both...), key(1)}, "3 2"},
		{"the only one has it all", both, []state.Key{key(3, both...)}, "3"},
		{"an older one has it all", both, []state.Key{key(4), key(3, both...), key(2, both...), key(1)}, "4 3 2"},
		{"two have it between them", both, []state.Key{key(4, secrets), key(3, configMaps), key(2, both...), key(1)}, "4 3 2"},
		{"a resource is nowhere", both, []state.Key{key(3, secrets), key(2, secrets), key(1)}, "3 2 1"},
		{"other resources do not count", []schema.GroupResource{secrets}, []state.Key{key(3, configMaps), key(2, secrets), key(1)}, "3 2 1"},
		{"no keys", both, nil, ""},
	} {
		if got := ids(state.Retained(c.grs, c.keys)); got != c.want {
			t.Errorf("%s: keys %q, want %q", c.name, got, c.want)
		}
	}
}

// world is a cluster whose API servers all run the deployed state.
type world struct {
	deployed state.State
	keys     []state.Key
	grs      []schema.GroupResource
	lastID   uint64

	// sealed is the key that an object of each resource may be encrypted with;
	// zero stands for none.
	sealed map[schema.GroupResource]map[uint64]bool
}

// step rolls out the desired state, or migrates, and checks that whoever still
// runs the state before gets along with whoever runs the next.
func (w *world) step(t *rapid.T) {
	next, phase := state.Desired(w.deployed, w.keys, w.grs)
	if phase == state.Migrating {
		newest := slices.MaxFunc(w.keys, func(a, b state.Key) int { return int(a.ID) - int(b.ID) })
		i := slices.IndexFunc(w.keys, newest.Equal)
		for _, gr := range next.Resources() {
			w.sealed[gr] = map[uint64]bool{newest.ID: true}
		}
		w.keys[i].Migrated.Resources = next.Resources()
		return
	}
	for i := range next {
		w.adjacent(t, w.deployed.Find(next[i].GroupResource), &next[i])
		for id := range w.sealed[next[i].GroupResource] {
			if id != 0 && !slices.ContainsFunc(next[i].Read, func(k state.Key) bool { return k.ID == id }) {
				t.Fatalf("%s: %s may be encrypted with key %d, which is read no longer: %s", phase, next[i].GroupResource, id, ids(next[i].Read))
			}
		}
	}
	w.deployed = next
	w.write()
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
		id := uint64(0)
		if r.HasWriteKey() && r.Write.Mode != state.Identity {
			id = r.Write.ID
		}
		w.sealed[r.GroupResource][id] = true
	}
}

// mourn forgets the objects whose keys are nowhere any more.
func (w *world) mourn() {
	for _, sealed := range w.sealed {
		for id := range sealed {
			is := func(k state.Key) bool { return k.ID == id }
			if !slices.ContainsFunc(w.keys, is) && !slices.ContainsFunc(w.deployed.ReadKeys(), is) {
				delete(sealed, id)
			}
		}
	}
}

// TestNoStepIsUnsafe walks through random lives of keys, in which Secrets of keys
// are deleted, resources are added and the configuration is lost.
func TestNoStepIsUnsafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{grs: []schema.GroupResource{secrets}, sealed: map[schema.GroupResource]map[uint64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"next": w.step,
			"add a key": func(t *rapid.T) {
				if _, phase := state.Desired(w.deployed, w.keys, w.grs); phase != state.Settled && phase != state.Waiting {
					t.Skip("the cycle of the last is not over")
				}
				w.lastID++
				k := key(w.lastID)
				if rapid.IntRange(0, 3).Draw(t, "identity") == 0 {
					k.Mode, k.Material = state.Identity, state.NoMaterial()
				}
				w.keys = append(w.keys, k)
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
				gr := rapid.SampledFrom([]schema.GroupResource{configMaps, widgets}).Draw(t, "resource")
				if slices.Contains(w.grs, gr) {
					t.Skip("it is there")
				}
				w.grs = append(w.grs, gr)
			},
			"lose the configuration": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "really") != 0 {
					t.Skip("not now")
				}
				w.deployed = nil
				w.mourn()
			},
			"": func(*rapid.T) {},
		})
	})
}
