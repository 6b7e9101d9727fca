package apiserver

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Written is one write as the store remembers it.
type Written struct {
	Resource  schema.GroupResource
	Namespace string
	Name      string
	Revision  uint64
	Deleted   bool

	// Object is the state after the write; for a deletion the last one before. It
	// belongs to the store: read-only.
	Object Object
}

// Since returns what was written to any resource after a revision, oldest first. It
// fails if some of it is forgotten; see [Options.History].
func (st *Store) Since(revision uint64) ([]Written, error) {
	upto := st.data.Revision()
	if upto <= revision {
		return nil, nil
	}
	var all []Written
	var changes []store.Change
	for _, name := range st.data.Tables() {
		var err error
		if changes, err = st.data.Table(name).Changes(changes[:0], revision, upto); err != nil {
			return nil, fmt.Errorf("read what was written to %s after revision %d: %w", name, revision, err)
		}
		for _, c := range changes {
			all = append(all, Written{
				Resource: schema.ParseGroupResource(name), Namespace: c.Key.Namespace, Name: c.Key.Name,
				Revision: c.Revision, Deleted: c.Deleted, Object: c.Object,
			})
		}
	}
	slices.SortStableFunc(all, func(a, b Written) int { return cmp.Compare(a.Revision, b.Revision) })
	return all, nil
}
