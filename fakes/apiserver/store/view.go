package store

// View is what one observer sees of a store. A live view sees every write at
// once. One that is held sees nothing after its revision, as an API server whose
// watch cache lags: reads through it are old, and cursors opened on it wait.
type View struct {
	store   *Store
	held    bool
	rev     uint64               // with held: the last revision seen
	stops   map[*Table]uint64    // tables of which less is seen; usually none
	cursors map[*Cursor]struct{} // readers are woken in order of age, so order here is free
}

// View returns a new live view.
func (s *Store) View() *View {
	return &View{store: s, cursors: map[*Cursor]struct{}{}}
}

// Hold stops the view at rev, or moves it there. A view does not go back: a
// revision before what it has shown already is ignored. Cursors that can go on
// tell their readers.
func (v *View) Hold(rev uint64) {
	v.store.mu.Lock()
	if !v.held {
		v.held, v.rev = true, v.store.rev
	}
	if rev > v.rev {
		v.rev = min(rev, v.store.rev)
	}
	v.rouse()
	v.store.unlock()
}

// Freeze stops the view at what it sees now.
func (v *View) Freeze() {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	if !v.held {
		v.held, v.rev = true, v.store.rev
	}
}

// Live lets the view see every write from now on, and all it has missed.
func (v *View) Live() {
	v.store.mu.Lock()
	v.held = false
	v.rouse()
	v.store.unlock()
}

// Revision returns the last revision that the view sees.
func (v *View) Revision() uint64 {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	return v.visible()
}

func (v *View) visible() uint64 {
	if v.held {
		return v.rev
	}
	return v.store.rev
}

// seen returns the last revision of t that the view sees.
func (v *View) seen(t *Table) uint64 {
	rev := v.visible()
	if v.stops != nil {
		if stop, ok := v.stops[t]; ok {
			return min(rev, stop)
		}
	}
	return rev
}

// in returns the revision at which the view sees t. A view cannot lag behind the
// end of the history.
func (v *View) in(t *Table) uint64 { return max(v.seen(t), t.since) }

// Stop lets the view see nothing of one table after rev, until [View.Go].
func (v *View) Stop(t *Table, rev uint64) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	if v.stops == nil {
		v.stops = map[*Table]uint64{}
	}
	v.stops[t] = rev
}

// Go lets the view see of a table what it sees of the others.
func (v *View) Go(t *Table) {
	v.store.mu.Lock()
	if _, ok := v.stops[t]; ok {
		if delete(v.stops, t); len(v.stops) == 0 {
			v.stops = nil
		}
		v.rouse()
	}
	v.store.unlock()
}

// Seen returns the last revision of t that the view sees.
func (v *View) Seen(t *Table) uint64 {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	return v.seen(t)
}

func (v *View) rouse() {
	for c := range v.cursors {
		if c.armed && c.ready(v.seen(c.table)) {
			c.armed = false
			v.store.wake = append(v.store.wake, c)
		}
	}
}

// Get returns the object at k as the view sees it.
func (v *View) Get(t *Table, k Key) (Object, bool) {
	obj, _, ok := v.Look(t, k)
	return obj, ok
}

// Look is Get with the mark of what it returns.
func (v *View) Look(t *Table, k Key) (Object, Mark, bool) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	seen, ok := t.at(k, v.in(t))
	return seen.obj, seen.mark, ok
}

// List answers q at the view's revision; q.Revision is not used.
func (v *View) List(t *Table, q Query) Result {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	q.Revision = v.in(t)
	return t.list(&q)
}
