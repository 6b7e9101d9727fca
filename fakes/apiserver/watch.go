package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"sort"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Watch is an open watch on a [Server]. Its methods may be called from any
// goroutine, but events are for one reader.
type Watch struct {
	server   *Server
	ep       *endpoint
	cursor   *store.Cursor // nil if there never was one, because the revision is gone
	id       uint64
	deadline time.Time // zero: none

	pending []Event // before what the cursor has: a bookmark, or the final error
	ended   bool
	last    bool // nothing comes after what is pending
	notify  func()
	fields  bool // objects are wanted with their managed fields
}

// Watch opens a watch on the resource and namespace of req, narrowed by its
// selectors. Refusals are errors. A revision that is no longer in the history is
// not: it makes one ERROR event, after which the stream ends.
func (s *Server) Watch(req *Request) (*Watch, error) {
	as := *req
	as.Verb = WatchVerb
	c := call{Server: s, req: &as}
	w, err := c.openWatch()
	if err != nil {
		return nil, asStatus(err)
	}
	return w, nil
}

func (c *call) openWatch() (*Watch, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	if c.ep.Refused {
		return nil, errNotModelled(c.ep.gr.String())
	}
	if c.req.Subresource != "" || c.ep.Virtual != nil {
		return nil, errMethod()
	}
	sel, err := c.selectObjects()
	if err != nil {
		return nil, err
	}
	from, err := parseVersion(c.req.ResourceVersion)
	if err != nil {
		return nil, errVersion(c.req.ResourceVersion, err)
	}
	w := &Watch{server: c.Server, ep: c.ep, fields: c.req.ManagedFields}
	if t := c.req.TimeoutSeconds; t != nil && *t > 0 {
		w.deadline = c.store.opts.Clock.Now().Add(seconds(*t))
	}
	// The events of a revision that only etcd remembers are gone with a compaction.
	uncached := c.ep.gr.Resource == "events"
	if r := c.rest.Load(); r != nil && !uncached && !c.ghostly() {
		if err := r.cache(c.ep).unready(); err != nil {
			return nil, err
		}
	}
	asked := c.req.SendInitialEvents
	q := store.WatchQuery{Selector: sel.Selector, From: from}
	switch {
	case asked != nil && *asked:
		q.Initial, q.Mark, q.Fresh = true, c.req.AllowWatchBookmarks, from == 0 && c.req.ResourceVersion == ""
		if visible := c.view.Seen(c.ep.table); from > visible {
			status := errTooLarge(c.ep, from, visible).Status()
			status.Details.RetryAfterSeconds = 1
			w.pending = []Event{{Type: watch.Error, Status: &status}}
			c.Server.track(w)
			return w, nil
		}
	case asked != nil: // explicitly none: from now on
		if from == 0 {
			q.From = c.view.Revision()
		}
	case from == 0:
		q.Initial, q.Mark = true, c.req.AllowWatchBookmarks
	}
	expired := uncached && !q.Initial && q.From < c.store.data.Compacted()
	if !expired {
		w.cursor, err = c.view.Watch(c.ep.table, q)
		expired = errors.Is(err, store.ErrExpired)
	}
	if expired {
		w.pending = []Event{w.tooOld(q.From, uncached)}
	}
	c.Server.track(w)
	return w, nil
}

// tooOld is the ERROR event of a watch from a forgotten revision.
func (w *Watch) tooOld(from uint64, uncached bool) Event {
	msg := "The resourceVersion for the provided watch is too old."
	if !uncached {
		msg = fmt.Sprintf("too old resource version: %d (%d)", from, w.ep.table.Since())
	}
	status := apierrors.NewResourceExpired(msg).Status()
	return Event{Type: watch.Error, Status: &status}
}

func (s *Server) track(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	w.id = s.opened
	s.watches[w] = struct{}{}
}

// open returns the open watches, oldest first.
func (s *Server) open() []*Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Watch, 0, len(s.watches))
	for w := range s.watches {
		out = append(out, w)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

func (s *Server) forget(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
}

// Next implements Stream.
func (w *Watch) Next() (Event, bool) {
	if r := w.server.rest.Load(); r != nil {
		r.follow(w.ep)
	}
	w.server.mu.Lock()
	if len(w.pending) > 0 && !w.ended {
		e := w.pending[0]
		w.pending = w.pending[1:]
		done := e.Type == watch.Error || w.last && len(w.pending) == 0
		w.server.mu.Unlock()
		if done {
			w.finish()
		}
		return e, true
	}
	ended := w.ended
	w.server.mu.Unlock()
	if ended || w.cursor == nil {
		return Event{}, false
	}
	e, ok, err := w.cursor.Next()
	switch {
	case err != nil:
		// The reader was too slow. A real server says nothing either: whoever watches
		// again from the last event he has seen is told that it is too old.
		w.finish()
	case ok:
		return w.event(e), true
	case w.expired():
		w.finish()
	}
	return Event{}, false
}

// expired reports whether the time that the request allowed has passed.
func (w *Watch) expired() bool {
	return !w.deadline.IsZero() && !w.server.store.opts.Clock.Now().Before(w.deadline)
}

var eventTypes = [...]watch.EventType{store.Added: watch.Added, store.Modified: watch.Modified, store.Deleted: watch.Deleted}

func (w *Watch) event(e store.Entry) Event {
	if e.Kind == store.InitialEnd {
		b := w.bookmark(e.Revision)
		notes := map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		maps.Copy(notes, b.Object.GetAnnotations())
		b.Object.SetAnnotations(notes)
		return b
	}
	obj := e.Object
	if r := w.server.rest.Load(); r != nil && w.ep.Uncached {
		if err := r.readEvent(w.ep, e); err != nil {
			return w.unreadable(err)
		}
	}
	switch v := w.ep.Version; {
	case v != nil:
		obj = v.From(obj)
	case w.ep.Schema != nil:
		var err error
		if e.Kind == store.Deleted && w.ep.Definition.Since > 0 {
			obj, err = w.ep.Schema.Load(obj) // its revision is that of the removal
		} else {
			obj, err = w.ep.seen(obj)
		}
		if err != nil {
			return w.unreadable(err)
		}
	}
	if w.fields {
		obj = withFields(obj, w.server.store.ledger.Owners(e.Mark, e.Object))
	}
	return Event{Type: eventTypes[e.Kind], Object: obj, Revision: e.Revision}
}

// unreadable is the ERROR event for an object that cannot be converted to the
// version of the watch.
func (w *Watch) unreadable(err error) Event {
	var status *apierrors.StatusError
	if !errors.As(asStatus(err), &status) {
		return Event{Type: watch.Error}
	}
	s := status.Status()
	return Event{Type: watch.Error, Status: &s}
}

// bookmark is an object that holds nothing but its kind and a resourceVersion.
func (w *Watch) bookmark(revision uint64) Event {
	obj := newObject(w.ep.Entry)
	if !w.ep.Typed() {
		obj.GetObjectKind().SetGroupVersionKind(w.ep.Served)
	}
	obj.SetResourceVersion(strconv.FormatUint(revision, 10))
	if w.ep.Blank != nil {
		w.ep.Blank(obj)
	}
	if s := w.ep.Scale; s != nil && w.ep.Typed() {
		s.SetReplicas(obj, 0) // a real server makes it of a type where this is no pointer
	}
	return Event{Type: watch.Bookmark, Object: obj, Revision: revision}
}

// Bookmark puts a BOOKMARK event into a stream that has nothing else to say, as a
// real server does every minute for watches that allow it. It reports whether it
// did. The server has no timer of its own: whoever drives it decides when.
func (w *Watch) Bookmark() bool {
	if w.cursor == nil {
		return false
	}
	revision, idle := w.cursor.Revision()
	w.server.mu.Lock()
	idle = idle && !w.ended && len(w.pending) == 0
	if idle {
		w.pending = append(w.pending, w.bookmark(revision))
	}
	w.server.mu.Unlock()
	if idle {
		w.cursor.Poke()
	}
	return idle
}

// Deadline returns when the stream ends because the request said so. Whoever
// drives the server calls Next or Expire at that time.
func (w *Watch) Deadline() (time.Time, bool) { return w.deadline, !w.deadline.IsZero() }

// Expire ends the stream if its deadline has passed, and tells the reader.
func (w *Watch) Expire() {
	if w.expired() {
		w.end()
	}
}

// Ended implements Stream.
func (w *Watch) Ended() bool {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return w.ended
}

// OnReady implements Stream.
func (w *Watch) OnReady(fn func()) {
	w.server.mu.Lock()
	w.notify = fn
	now := w.ended || len(w.pending) > 0
	w.server.mu.Unlock()
	switch {
	case now:
		fn()
	case w.cursor != nil:
		w.cursor.OnReady(fn)
	}
}

// Stop implements Stream.
func (w *Watch) Stop() { w.finish() }

// finish ends the stream from the reader's side.
func (w *Watch) finish() {
	w.server.mu.Lock()
	w.ended, w.pending = true, nil
	w.server.mu.Unlock()
	if w.cursor != nil {
		w.cursor.Close()
	}
	w.server.forget(w)
}

// end ends the stream from the server's side, and tells the reader.
func (w *Watch) end() {
	w.server.mu.Lock()
	fn, was := w.notify, w.ended
	w.server.mu.Unlock()
	w.finish()
	if fn != nil && !was {
		fn()
	}
}

// close ends the stream from the server's side once all has been read that has
// happened until now, and tells the reader.
func (w *Watch) close() {
	var rest []Event
	for w.cursor != nil {
		e, ok, err := w.cursor.Next()
		if err != nil {
			rest = append(rest, w.tooOld(0, false))
		} else if ok {
			rest = append(rest, w.event(e))
			continue
		}
		break
	}
	w.server.mu.Lock()
	if w.ended || len(w.pending)+len(rest) == 0 {
		w.server.mu.Unlock()
		w.end()
		return
	}
	w.pending, w.last = append(w.pending, rest...), true
	fn := w.notify
	w.server.mu.Unlock()
	if w.cursor != nil {
		w.cursor.Close()
	}
	if fn != nil {
		fn()
	}
}
