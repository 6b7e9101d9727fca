package store

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kind says what an [Entry] is.
type Kind uint8

// The kinds of entries. An object that enters a selector is added, one that
// leaves it is deleted, whatever the write was.
const (
	Added Kind = iota
	Modified
	Deleted
	InitialEnd // all initial objects have been sent; Object is nil
)

// Entry is what a cursor yields.
type Entry struct {
	Kind     Kind
	Object   Object
	Revision uint64
	Mark     Mark
}

// WatchQuery says where a cursor starts and what it sees.
type WatchQuery struct {
	Selector

	// From is the revision after which events are wanted. It may be in the
	// future: what comes before it is then skipped.
	From uint64

	// Initial asks for the present objects first, and then for what follows.
	// From is ignored.
	Initial bool

	// Mark asks for an InitialEnd entry after the initial objects; with Fresh,
	// not before the view has seen all that is in the store now.
	Mark, Fresh bool
}

// Cursor is an open watch: a queue of what its reader has not read yet.
type Cursor struct {
	id      uint64
	table   *Table
	view    *View
	sel     Selector
	label   string // with plain: all that sel asks for, besides the namespace
	value   string
	plain   bool
	skip    uint64 // events up to this revision are not wanted
	queue   []Entry
	head    int
	initial int  // how many of the queue, read or not, are initial events
	armed   bool // the reader has drained the queue and wants to be told
	notify  func()
	expired bool
	closed  bool
	bucket  *bucket
	slot    int // in the bucket
}

// Watch opens a cursor on t. It fails with ErrExpired if the history no longer
// reaches back to q.From.
func (v *View) Watch(t *Table, q WatchQuery) (*Cursor, error) {
	s := v.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if !q.Initial && (q.From < t.since || q.From < min(t.opened, v.visible())) {
		return nil, ErrExpired
	}
	s.cursors++
	c := &Cursor{id: s.cursors, table: t, view: v, sel: q.Selector, skip: q.From}
	c.label, c.value, c.plain = q.Selector.onlyLabel()
	if q.Initial {
		c.skip = v.in(t)
		r := t.list(&Query{Selector: q.Selector, Revision: c.skip, Marked: true})
		c.queue = make([]Entry, 0, len(r.Objects)+1)
		for i, obj := range r.Objects {
			rev, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
			c.queue = append(c.queue, Entry{Added, obj, rev, r.Marks[i]})
		}
		c.initial = len(c.queue)
	}
	if q.Initial && q.Mark && !q.Fresh {
		c.queue = append(c.queue, Entry{Kind: InitialEnd, Revision: c.skip})
	}
	for i := t.history.after(c.skip); i < t.history.len(); i++ {
		c.offer(t.history.at(i))
	}
	if q.Initial && q.Mark && q.Fresh {
		c.queue = append(c.queue, Entry{Kind: InitialEnd, Revision: s.rev})
	}
	t.route.add(c)
	v.cursors[c] = struct{}{}
	return c, nil
}

// selects is sel.matches, by a shorter way if there is one.
func (c *Cursor) selects(k Key, obj Object) bool {
	if !c.plain {
		return c.sel.matches(k, obj)
	}
	if c.sel.Namespace != "" && k.Namespace != c.sel.Namespace {
		return false
	}
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return c.sel.matches(k, obj)
	}
	value, ok := obj.GetLabels()[c.label]
	return ok && value == c.value
}

// offer queues what the reader should see of e.
func (c *Cursor) offer(e *event) {
	if e.rev <= c.skip || c.expired {
		return
	}
	now := e.obj != nil && c.selects(e.key, e.obj)
	was := e.prev != nil && c.selects(e.key, e.prev)
	c.take(e, now, was)
}

// take is offer once it is known whether the object is selected now, and whether
// it was before.
func (c *Cursor) take(e *event, now, was bool) {
	if e.rev <= c.skip || c.expired {
		return
	}
	switch {
	case now && was:
		c.queue = append(c.queue, Entry{Modified, e.obj, e.rev, e.mark})
	case now:
		c.queue = append(c.queue, Entry{Added, e.obj, e.rev, e.mark})
	case was:
		c.queue = append(c.queue, Entry{Deleted, e.tombstone(), e.rev, e.was})
	default:
		return
	}
	s := c.table.store
	if len(c.queue)-max(c.head, c.initial) > s.cfg.History {
		c.expired = true // the reader fell further behind than the history reaches
		c.queue, c.head = nil, 0
	}
	if c.armed && c.ready(c.view.seen(c.table)) {
		c.armed = false
		s.wake = append(s.wake, c)
	}
}

// ready reports whether Next has something to say to a reader who sees
// revisions up to seen.
func (c *Cursor) ready(seen uint64) bool {
	return c.closed || c.expired || c.head < len(c.queue) && c.queue[c.head].Revision <= seen
}

// roomy is the length of a queue that is worth keeping once it is empty.
const roomy = 8

// longRead is how many entries that were read may stay in front of those that were
// not.
const longRead = 1024

// Next returns the next entry. It returns false if there is none now, and with
// it ErrExpired if there will never be one because the reader was too slow.
func (c *Cursor) Next() (Entry, bool, error) {
	s := c.table.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.closed:
		return Entry{}, false, nil
	case c.expired:
		return Entry{}, false, ErrExpired
	case !c.ready(c.view.seen(c.table)):
		c.armed = c.notify != nil
		return Entry{}, false, nil
	}
	e := c.queue[c.head]
	c.queue[c.head] = Entry{}
	switch c.head++; {
	case c.head == len(c.queue):
		c.queue, c.head, c.initial = c.queue[:0], 0, 0
		if cap(c.queue) > roomy {
			c.queue = nil // initial events are many, and never come again
		}
	case c.head >= longRead && 2*c.head >= len(c.queue):
		// A reader who is always a little behind would make the queue grow for ever.
		c.queue = append([]Entry(nil), c.queue[c.head:]...)
		c.head, c.initial = 0, max(0, c.initial-c.head)
	}
	return e, true, nil
}

// OnReady sets the function to call when Next has something to say again after
// it had nothing. If it has now, fn is called at once.
func (c *Cursor) OnReady(fn func()) {
	s := c.table.store
	s.mu.Lock()
	c.notify = fn
	ready := c.ready(c.view.seen(c.table))
	c.armed = !ready && fn != nil
	s.mu.Unlock()
	if ready && fn != nil {
		fn()
	}
}

// Poke calls the reader if it is waiting, although there is nothing to read.
func (c *Cursor) Poke() {
	s := c.table.store
	s.mu.Lock()
	armed := c.armed
	c.armed = false
	fn := c.notify
	s.mu.Unlock()
	if armed {
		fn()
	}
}

// Revision returns the last revision up to which the reader has seen everything,
// if its queue is empty now; otherwise it returns false.
func (c *Cursor) Revision() (uint64, bool) {
	s := c.table.store
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := c.view.seen(c.table)
	return seen, !c.ready(seen)
}

// Close ends the cursor and drops what was not read. Its reader is not called.
func (c *Cursor) Close() {
	s := c.table.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed {
		return
	}
	c.closed, c.armed = true, false
	c.queue, c.head = nil, 0
	c.table.route.remove(c)
	delete(c.view.cursors, c)
}
