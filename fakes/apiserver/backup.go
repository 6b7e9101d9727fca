package apiserver

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Backup is what a snapshot of etcd holds: all objects as they were stored, sealed ones
// sealed.
type Backup struct {
	revision uint64
	tables   map[string][]saved
}

type saved struct {
	key  store.Key
	obj  Object
	mark store.Mark
}

// Revision is that of the last write before the backup.
func (b *Backup) Revision() uint64 { return b.revision }

// Backup takes a snapshot of the store.
func (st *Store) Backup() *Backup {
	b := &Backup{revision: st.data.Revision(), tables: map[string][]saved{}}
	for _, name := range st.data.Tables() {
		b.tables[name] = st.saved(name)
	}
	return b
}

// saved are the objects of a table, in the order of their keys.
func (st *Store) saved(table string) []saved {
	found, err := st.data.Table(table).List(store.Query{Marked: true})
	if err != nil {
		panic(err) // only lists of old revisions fail
	}
	out := make([]saved, len(found.Objects))
	for i, o := range found.Objects {
		out[i] = saved{store.Key{Namespace: o.GetNamespace(), Name: o.GetName()}, o, found.Marks[i]}
	}
	return out
}

// Restore puts the state of a backup in place of what there is. It is as if somebody had
// written every object that differs: revisions go on from where they are (etcdutl's
// --bump-revision), and objects that came back have new ones. All history is forgotten.
// The API servers are to be restarted by whoever restores, as those of a real cluster.
func (st *Store) Restore(b *Backup) error {
	names := st.data.Tables()
	for _, name := range names {
		wanted := map[store.Key]saved{}
		for _, s := range b.tables[name] {
			wanted[s.key] = s
		}
		t := st.data.Table(name)
		for _, now := range st.saved(name) {
			was, ok := wanted[now.key]
			delete(wanted, now.key)
			var err error
			switch {
			case !ok:
				_, err = t.Delete(now.key, now.obj)
			case was.obj != now.obj:
				err = t.UpdateMarked(now.key, shape.ShallowCopy(was.obj).(Object), now.obj, was.mark)
			}
			if err != nil {
				return fmt.Errorf("restore %s %s: %w", name, now.key, err)
			}
		}
		for _, s := range b.tables[name] {
			if _, gone := wanted[s.key]; !gone {
				continue
			}
			if err := t.CreateMarked(s.key, shape.ShallowCopy(s.obj).(Object), s.mark); err != nil {
				return fmt.Errorf("restore %s %s: %w", name, s.key, err)
			}
		}
	}
	st.ForgetHistory()
	return nil
}
