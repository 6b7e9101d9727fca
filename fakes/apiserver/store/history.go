package store

import (
	"sort"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// event is one write as history and cursors keep it. It does not change, apart
// from last being filled in when somebody first needs it.
type event struct {
	rev  uint64
	key  Key
	obj  Object // the state after, nil if the object was deleted
	prev Object // the state before, nil if it was created
	last Object // prev with this event's revision

	mark, was Mark // of obj and prev
}

// tombstone is what a watcher is told about an object that it no longer sees:
// its content of before, at the revision of the event.
func (e *event) tombstone() Object {
	if e.last == nil {
		o := shape.ShallowCopy(e.prev).(Object)
		o.SetResourceVersion(e.obj.GetResourceVersion())
		e.last = o
	}
	return e.last
}

// ring holds the newest events, oldest first. It grows up to its limit, so a
// small run pays for a small one.
type ring struct {
	limit int
	buf   []*event
	first int // index of the oldest once the ring has wrapped
}

// push appends e and returns the event that had to go, if any.
func (r *ring) push(e *event) *event {
	if len(r.buf) < r.limit {
		r.buf = append(r.buf, e)
		return nil
	}
	lost := r.buf[r.first]
	r.buf[r.first] = e
	if r.first++; r.first == r.limit {
		r.first = 0
	}
	return lost
}

func (r *ring) len() int { return len(r.buf) }

// at returns the i-th oldest event.
func (r *ring) at(i int) *event {
	if i += r.first; i >= len(r.buf) {
		i -= len(r.buf)
	}
	return r.buf[i]
}

// after returns the position of the first event later than rev.
func (r *ring) after(rev uint64) int {
	return sort.Search(r.len(), func(i int) bool { return r.at(i).rev > rev })
}

// undo returns, for every key written after rev, its state at rev, which
// has no object for keys that were not there.
func (t *Table) undo(rev uint64) map[Key]version {
	from := t.history.after(rev)
	if from == t.history.len() {
		return nil
	}
	old := make(map[Key]version, t.history.len()-from)
	for i := t.history.len() - 1; i >= from; i-- {
		e := t.history.at(i)
		old[e.key] = version{e.prev, e.was}
	}
	return old
}

// Change is one write, as those see it who look at what was stored.
type Change struct {
	Key      Key
	Revision uint64
	Deleted  bool
	Object   Object // the state after the write, or the last one before it went; read-only
	Mark     Mark   // of the state after the write, or of the last one before it went
}

// Changes appends to list the writes after one revision and up to another, oldest
// first. It fails with ErrExpired if some of them are forgotten.
func (t *Table) Changes(list []Change, after, upto uint64) ([]Change, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if after < t.since {
		return list, ErrExpired
	}
	for i := t.history.after(after); i < t.history.len(); i++ {
		e := t.history.at(i)
		if e.rev > upto {
			break
		}
		c := Change{Key: e.key, Revision: e.rev, Deleted: e.obj == nil, Object: e.obj, Mark: e.mark}
		if c.Deleted {
			c.Object, c.Mark = e.prev, e.was
		}
		list = append(list, c)
	}
	return list, nil
}
