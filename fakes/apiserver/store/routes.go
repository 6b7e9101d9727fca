package store

// routes finds the cursors that a write may concern. Each cursor stands in one
// bucket, chosen by the most selective thing that its selector demands, so a
// write looks at few buckets and these hold few cursors that it does not concern.
type routes struct {
	all    bucket
	names  map[string]*bucket // by object name
	spaces map[string]*bucket // by namespace
	values []*valueRoute      // by label or field, in order of first use
}

// bucket is a set of cursors, in no order that means anything.
type bucket struct {
	cursors []*Cursor
	drop    func() // takes the bucket out of its map once it is empty
}

// valueRoute holds buckets by the value of one label or field.
type valueRoute struct {
	index   // only label and field are used
	buckets map[string]*bucket
}

func (r *routes) add(c *Cursor) {
	b := r.bucketFor(&c.sel)
	c.bucket, c.slot = b, len(b.cursors)
	b.cursors = append(b.cursors, c)
}

func (r *routes) bucketFor(sel *Selector) *bucket {
	if sel.Name != "" {
		if r.names == nil {
			r.names = map[string]*bucket{}
		}
		return bucketIn(r.names, sel.Name)
	}
	if t, ok := sel.exactField(); ok {
		return bucketIn(r.valuesOf("", t.Field).buckets, t.Value)
	}
	if key, value, ok := sel.exactLabel(); ok {
		return bucketIn(r.valuesOf(key, nil).buckets, value)
	}
	if sel.Namespace != "" {
		if r.spaces == nil {
			r.spaces = map[string]*bucket{}
		}
		return bucketIn(r.spaces, sel.Namespace)
	}
	return &r.all
}

func bucketIn(m map[string]*bucket, key string) *bucket {
	b := m[key]
	if b == nil {
		b = &bucket{drop: func() { delete(m, key) }}
		m[key] = b
	}
	return b
}

func (r *routes) valuesOf(label string, field *Field) *valueRoute {
	for _, v := range r.values {
		if v.label == label && (v.field == nil) == (field == nil) && (field == nil || v.field.Name == field.Name) {
			return v
		}
	}
	v := &valueRoute{index: index{label: label, field: field}, buckets: map[string]*bucket{}}
	r.values = append(r.values, v)
	return v
}

func (r *routes) remove(c *Cursor) {
	b := c.bucket
	if b == nil {
		return
	}
	last := len(b.cursors) - 1
	b.cursors[c.slot] = b.cursors[last]
	b.cursors[c.slot].slot = c.slot
	b.cursors[last] = nil
	b.cursors = b.cursors[:last]
	c.bucket = nil
	if last == 0 && b.drop != nil {
		b.drop()
	}
}

// dispatch offers e to every cursor that it may concern. The order does not
// matter: each cursor has a queue of its own, and readers are woken in order of
// their cursors' age.
func (r *routes) dispatch(e *event) {
	r.all.offer(e)
	if len(r.names) > 0 {
		r.names[e.key.Name].offer(e)
	}
	if len(r.spaces) > 0 {
		r.spaces[e.key.Namespace].offer(e)
	}
	for _, v := range r.values {
		if len(v.buckets) > 0 {
			v.dispatch(e)
		}
	}
}

func (v *valueRoute) dispatch(e *event) {
	var was, is string
	var had, has bool
	if e.prev != nil {
		was, had = v.value(e.prev)
	}
	if e.obj != nil {
		is, has = v.value(e.obj)
	}
	stays := had && has && was == is
	if has {
		v.buckets[is].offerValue(e, true, stays)
	}
	if had && !stays {
		v.buckets[was].offerValue(e, false, true)
	}
}

func (b *bucket) offer(e *event) {
	if b == nil {
		return
	}
	for _, c := range b.cursors {
		c.offer(e)
	}
}

// offerValue is offer for a bucket of those who ask for one value: now and was
// tell whether the object has it after and had it before the event.
func (b *bucket) offerValue(e *event, now, was bool) {
	if b == nil {
		return
	}
	for _, c := range b.cursors {
		switch {
		case !c.plain:
			c.offer(e)
		case c.sel.Namespace == "" || c.sel.Namespace == e.key.Namespace:
			c.take(e, now, was)
		}
	}
}
