package oracle

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim"
)

// returnsMax is how often an object may come back to how it has been, without anybody
// outside having changed it.
const returnsMax = 5

// NoFights says that programs do not change an object back and forth: two that want it
// different, or one that reads an old state and one that repairs. Each write wakes both.
//
// It is wrong about objects whose states are few and are told by what happens in the
// world, such as a condition that is true and false by turns.
func NoFights(w *sim.World) {
	f := follow(w)
	type past struct {
		seen    map[uint64]bool
		last    uint64
		returns int
		writers map[string]bool
	}
	all := map[string]*past{}
	w.Always("no-fights", "An object that goes back and forth shows that its writers do not agree, and wakes them for ever.", func() error {
		for _, n := range f.next() {
			if n.Deleted || n.program == "" || housekeeping(n.Resource) {
				delete(all, n.key)
				continue
			}
			p := all[n.key]
			if p == nil {
				p = &past{seen: map[uint64]bool{}, writers: map[string]bool{}}
				all[n.key] = p
			}
			content, err := contentOf(n.Object)
			if err != nil {
				return fmt.Errorf("read %s: %w", n.key, err)
			}
			p.writers[n.program] = true
			if content != p.last && p.seen[content] {
				p.returns++
			}
			p.last, p.seen[content] = content, true
			if p.returns > returnsMax {
				return fmt.Errorf("%s goes back and forth: %d times it came back to what it had been, by the writes of %s", n.key, p.returns, names(p.writers))
			}
		}
		return nil
	})
}

// contentOf is a hash of what an object says, without what each write changes.
func contentOf(obj apiserver.Object) (uint64, error) {
	c, ok := obj.DeepCopyObject().(metav1.Object)
	if !ok {
		return 0, fmt.Errorf("%T has no metadata", obj)
	}
	c.SetManagedFields(nil)
	c.SetResourceVersion("")
	c.SetGeneration(0)
	text, err := json.Marshal(c)
	if err != nil {
		return 0, fmt.Errorf("encode it: %w", err)
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // which never fails
	return h.Sum64(), nil
}
