package store

import (
	"github.com/google/btree"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// item is the place of a key in a table. The tree and the indexes hold items,
// so an update that moves no index touches none of them.
type item struct {
	key  Key
	obj  Object // immutable
	mark Mark
	copy Object // as it was written; only with Config.Check
}

func lessItem(a, b *item) bool { return a.key.Less(b.key) }

// itemTree keeps items in the order of their keys.
type itemTree = btree.BTreeG[*item]

// nodes are spare nodes, shared by the trees of a table: an index has a tree for
// each value, most of them tiny.
type nodes = btree.FreeListG[*item]

func newTree(spare *nodes) *itemTree { return btree.NewWithFreeListG(32, lessItem, spare) }

// Table holds the objects of one resource.
type Table struct {
	store   *Store
	name    string
	items   map[Key]*item
	latest  *item // found: a write looks for its object more than once
	tree    *itemTree
	spare   *nodes
	history ring
	since   uint64 // events up to this revision are gone
	opened  uint64 // watches from before this revision are refused
	indexes []*index
	route   routes
}

func newTable(s *Store, name string) *Table {
	spare := btree.NewFreeListG[*item](btree.DefaultFreeListSize)
	return &Table{
		store: s, name: name, items: map[Key]*item{}, tree: newTree(spare), spare: spare,
		history: ring{limit: s.cfg.History}, since: s.compacted,
	}
}

// Len returns the number of objects.
func (t *Table) Len() int {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return len(t.items)
}

// Since returns the revision up to which watches are told no events.
func (t *Table) Since() uint64 {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return max(t.since, t.opened)
}

// Reopen refuses watches from before now, as a new watch cache does. Old lists, which
// do not come from there, are still answered, and open cursors go on.
func (t *Table) Reopen() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.opened = t.store.rev
}

// Get returns the object at k as it is now.
func (t *Table) Get(k Key) (Object, bool) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	it := t.find(k)
	if it == nil {
		return nil, false
	}
	t.check(it)
	return it.obj, true
}

// find returns the item at k, or nil.
func (t *Table) find(k Key) *item {
	if it := t.latest; it != nil && it.key == k {
		return it
	}
	it := t.items[k]
	if it != nil {
		t.latest = it
	}
	return it
}

// Look is Get with the mark of what it returns.
func (t *Table) Look(k Key) (Object, Mark, bool) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	it := t.find(k)
	if it == nil {
		return nil, Mark{}, false
	}
	t.check(it)
	return it.obj, it.mark, true
}

// Create stores obj, which the caller gives away, at a new key. The object gets
// its resourceVersion. It fails with ErrExists.
func (t *Table) Create(k Key, obj Object) error { return t.CreateMarked(k, obj, Mark{}) }

// CreateMarked is Create with a mark.
func (t *Table) CreateMarked(k Key, obj Object, mark Mark) error {
	t.store.mu.Lock()
	if _, ok := t.items[k]; ok {
		t.store.mu.Unlock()
		return ErrExists
	}
	rev := t.store.next(obj)
	it := &item{key: k, mark: mark}
	t.put(it, obj)
	t.items[k] = it
	t.tree.ReplaceOrInsert(it)
	for _, x := range t.indexes {
		x.insert(it)
	}
	t.record(&event{rev: rev, key: k, obj: obj, mark: mark})
	t.store.unlock()
	return nil
}

// Update replaces the object at k by obj, which the caller gives away. It fails
// with ErrNotFound if there is none, and with ErrConflict if it is not prev,
// the very object that the caller had read.
func (t *Table) Update(k Key, obj, prev Object) error { return t.update(k, obj, prev, nil) }

// UpdateMarked is Update with a mark, instead of one carried over from the version
// before.
func (t *Table) UpdateMarked(k Key, obj, prev Object, mark Mark) error {
	return t.update(k, obj, prev, &mark)
}

func (t *Table) update(k Key, obj, prev Object, mark *Mark) error {
	t.store.mu.Lock()
	it, err := t.current(k, prev)
	if err != nil {
		t.store.mu.Unlock()
		return err
	}
	rev := t.store.next(obj)
	for _, x := range t.indexes {
		x.move(it, obj)
	}
	was := it.mark
	switch {
	case mark != nil:
		it.mark = *mark
	case t.store.cfg.Carry != nil:
		it.mark = t.store.cfg.Carry(was, prev)
	}
	t.put(it, obj)
	t.record(&event{rev: rev, key: k, obj: obj, prev: prev, mark: it.mark, was: was})
	t.store.unlock()
	return nil
}

// Delete removes the object at k. It fails as Update does. It returns the last
// state with the revision of the deletion as its resourceVersion.
func (t *Table) Delete(k Key, prev Object) (Object, error) {
	t.store.mu.Lock()
	it, err := t.current(k, prev)
	if err != nil {
		t.store.mu.Unlock()
		return nil, err
	}
	for _, x := range t.indexes {
		x.remove(it)
	}
	delete(t.items, k)
	t.latest = nil
	t.tree.Delete(it)
	last := shape.ShallowCopy(prev).(Object)
	rev := t.store.next(last)
	t.record(&event{rev: rev, key: k, prev: prev, last: last, was: it.mark})
	t.store.unlock()
	return last, nil
}

func (t *Table) current(k Key, prev Object) (*item, error) {
	it := t.find(k)
	if it == nil {
		return nil, ErrNotFound
	}
	if it.obj != prev {
		return nil, ErrConflict
	}
	t.check(it)
	return it, nil
}

func (t *Table) put(it *item, obj Object) {
	it.obj = obj
	if t.store.cfg.Check != nil {
		it.copy = obj.DeepCopyObject().(Object)
	}
}

func (t *Table) check(it *item) {
	if t.store.cfg.Check != nil {
		t.store.cfg.Check(t.name, it.key, it.obj, it.copy)
	}
}

// record appends to the history and passes the event to the cursors.
func (t *Table) record(e *event) {
	if lost := t.history.push(e); lost != nil {
		t.since = lost.rev
	}
	t.route.dispatch(e)
}
