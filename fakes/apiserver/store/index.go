package store

// index keeps the items of a table by the value of one label or field.
type index struct {
	label  string // the label's key, or
	field  *Field // the field
	values map[string]*itemTree
	spare  *nodes
}

// value returns obj's value, and whether it has one.
func (x *index) value(obj Object) (string, bool) {
	if x.field != nil {
		return x.field.Get(obj), true
	}
	return labelsOf(obj).Lookup(x.label)
}

func (x *index) insert(it *item) {
	v, ok := x.value(it.obj)
	if !ok {
		return
	}
	t := x.values[v]
	if t == nil {
		t = newTree(x.spare)
		x.values[v] = t
	}
	t.ReplaceOrInsert(it)
}

func (x *index) remove(it *item) {
	v, ok := x.value(it.obj)
	if !ok {
		return
	}
	if tree := x.values[v]; tree != nil {
		if tree.Delete(it); tree.Len() == 0 {
			delete(x.values, v)
		}
	}
}

// move puts the item where it belongs once it holds next.
func (x *index) move(it *item, next Object) {
	was, had := x.value(it.obj)
	is, has := x.value(next)
	if was == is && had == has {
		return
	}
	x.remove(it)
	old := it.obj
	it.obj = next
	x.insert(it)
	it.obj = old
}

// indexable is the size from which on a table is worth an index.
const indexable = 64

// lookup returns the items that an equality in the selector leaves over. Without
// one, or in a small table, that is the whole tree.
func (t *Table) lookup(sel *Selector) *itemTree {
	if len(t.items) < indexable {
		return t.tree
	}
	if term, ok := sel.exactField(); ok {
		return t.indexOf("", term.Field).values[term.Value]
	}
	if key, value, ok := sel.exactLabel(); ok {
		return t.indexOf(key, nil).values[value]
	}
	return t.tree
}

func (t *Table) indexOf(label string, field *Field) *index {
	for _, x := range t.indexes {
		if field != nil && x.field != nil && x.field.Name == field.Name || field == nil && x.field == nil && x.label == label {
			return x
		}
	}
	x := &index{label: label, field: field, values: map[string]*itemTree{}, spare: t.spare}
	t.tree.Ascend(func(it *item) bool { x.insert(it); return true })
	t.indexes = append(t.indexes, x)
	return x
}
