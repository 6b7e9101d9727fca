package store

import "sort"

// Query asks for a list.
type Query struct {
	Selector

	// Revision asks for the state at that revision; zero means now.
	Revision uint64

	// After is the key after which the list starts, if Continue is set.
	After    Key
	Continue bool

	// Limit is the largest number of objects wanted; zero means all.
	Limit int

	// Marked asks for the marks of the objects.
	Marked bool
}

// Result is a list, in key order.
type Result struct {
	Objects  []Object
	Marks    []Mark // of the objects, if they were asked for
	Revision uint64 // of the state that was listed
	More     bool   // the limit cut the list
	Left     int    // with More: the number of objects that were not reached
}

// List returns the objects that q asks for. It fails with ErrExpired if the
// revision is before what Compact or the history's limit have left.
func (t *Table) List(q Query) (Result, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if q.Revision == 0 {
		q.Revision = t.store.rev
	} else if q.Revision < t.store.compacted || q.Revision < t.since {
		return Result{}, ErrExpired
	}
	return t.list(&q), nil
}

// list answers q, whose revision is known to be in reach.
func (t *Table) list(q *Query) Result {
	r := Result{Revision: q.Revision}
	old := t.undo(q.Revision)
	if q.Name != "" && q.Namespace != "" {
		t.listOne(q, old, &r)
		return r
	}
	selector := q.Selector
	if q.Limit > 0 { // what is not selected matters as well
		selector = Selector{Namespace: q.Namespace}
	}
	tree := t.lookup(&selector)
	if tree != nil && len(old) == 0 {
		if n := tree.Len(); q.wholeNamespace() && q.Namespace == "" && (q.Limit == 0 || n < q.Limit) {
			r.Objects = make([]Object, 0, n)
		}
	}
	add := func(k Key, obj Object, mark Mark) bool {
		if q.Namespace != "" && k.Namespace != q.Namespace {
			return k.Namespace < q.Namespace
		}
		if q.Limit > 0 && len(r.Objects) == q.Limit {
			r.More = true // whether it is selected or not
			r.Left++
			return q.wholeNamespace() // only then does anybody want to know how many
		}
		if !q.matches(k, obj) {
			return true
		}
		r.add(q, obj, mark)
		return true
	}
	t.walk(tree, q, old, add)
	return r
}

func (r *Result) add(q *Query, obj Object, mark Mark) {
	r.Objects = append(r.Objects, obj)
	if q.Marked {
		r.Marks = append(r.Marks, mark)
	}
}

func (t *Table) listOne(q *Query, old map[Key]version, r *Result) {
	k := Key{q.Namespace, q.Name}
	v, changed := old[k]
	if !changed {
		if it, ok := t.items[k]; ok {
			t.check(it)
			v = version{it.obj, it.mark}
		}
	}
	if v.obj != nil && q.matches(k, v.obj) && (!q.Continue || q.After.Less(k)) {
		r.add(q, v.obj, v.mark)
	}
}

// walk calls add for the objects of tree as they were before old was overwritten,
// in key order from where q starts, until add returns false.
func (t *Table) walk(tree *itemTree, q *Query, old map[Key]version, add func(Key, Object, Mark) bool) {
	pivot := &item{key: Key{q.Namespace, ""}}
	if q.Continue && pivot.key.Less(q.After) {
		pivot.key = q.After
	}
	extra := changedKeys(old, pivot.key) // states that are no longer in the tree
	stopped := false
	flush := func(before *Key) bool {
		for len(extra) > 0 && (before == nil || extra[0].Less(*before)) {
			k := extra[0]
			extra = extra[1:]
			if (!q.Continue || q.After.Less(k)) && !add(k, old[k].obj, old[k].mark) {
				stopped = true
				return false
			}
		}
		return true
	}
	if tree != nil {
		tree.AscendGreaterOrEqual(pivot, func(it *item) bool {
			if q.Continue && !q.After.Less(it.key) {
				return true
			}
			if !flush(&it.key) {
				return false
			}
			if _, changed := old[it.key]; changed {
				return true
			}
			t.check(it)
			if !add(it.key, it.obj, it.mark) {
				stopped = true
			}
			return !stopped
		})
	}
	if !stopped {
		flush(nil)
	}
}

// changedKeys returns the keys of old from start on that had a state, sorted.
func changedKeys(old map[Key]version, start Key) []Key {
	if len(old) == 0 {
		return nil
	}
	keys := make([]Key, 0, len(old))
	for k, v := range old {
		if v.obj != nil && !k.Less(start) {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].Less(keys[j]) })
	return keys
}

// at returns the object at k as it was at rev.
func (t *Table) at(k Key, rev uint64) (version, bool) {
	for i := t.history.after(rev); i < t.history.len(); i++ {
		if e := t.history.at(i); e.key == k {
			return version{e.prev, e.was}, e.prev != nil
		}
	}
	it, ok := t.items[k]
	if !ok {
		return version{}, false
	}
	t.check(it)
	return version{it.obj, it.mark}, true
}
