package apiserver

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// watchCache is what a real server keeps of a kind: the objects as it could read them
// when they came, which are not read again. It matters only where values are sealed; the
// objects themselves are those of the store, seen through the server's view.
//
//	cold       nothing was listed yet, or what was listed cannot be read: it is tried
//	           anew every second. Whoever wants something of the cache gets 429.
//	following  each event is read by the transformers that are in force when it comes.
//	stalled    the next event cannot be read. The cache goes on telling what it has, for
//	           up to 30 s, and goes on if the event can be read then. Otherwise all
//	           watches end and the cache is cold. A deletion of what cannot be read does
//	           that at once.
type watchCache struct {
	rest  *atRest
	ep    *endpoint
	state cacheState

	since   uint64    // the revision of the list that it began with
	upto    uint64    // the last revision that it has read
	changed time.Time // when it was ready last, or stopped being so
	stalled time.Time // since when, if it is
	next    time.Time // with cold: when it lists anew
	err     error     // with cold: why it could not
	ticking bool      // a timer looks after the stall
}

type cacheState uint8

const (
	cacheCold cacheState = iota
	cacheFollowing
	cacheStalled
)

// Times of a watch cache.
const (
	cacheRetry    = time.Second
	cachePatience = 30 * time.Second
	cacheWait     = 3 * time.Second // for a cache to be as new as a list wants it
)

// cache is that of a kind, and has followed the store as far as it could.
func (r *atRest) cache(ep *endpoint) *watchCache {
	w := r.caches[ep.table]
	if w == nil {
		w = &watchCache{rest: r, ep: ep, changed: r.now()}
		r.caches[ep.table] = w
	}
	w.follow()
	return w
}

// follow lets the cache of a kind read what has come, if there is one.
func (r *atRest) follow(ep *endpoint) {
	if w := r.caches[ep.table]; w != nil {
		w.follow()
	}
}

func (r *atRest) now() time.Time { return r.server.store.opts.Clock.Now() }

// follow reads what has come.
func (w *watchCache) follow() {
	if w.rest.server.ghost.Load() != nil || w.rest.server.rest.Load() != w.rest {
		return
	}
	if w.state == cacheCold {
		if !w.rest.now().Before(w.next) {
			w.begin()
		}
		return
	}
	upto := w.rest.server.view.Revision()
	if upto <= w.upto {
		return
	}
	changes, err := w.ep.table.Changes(nil, w.upto, upto)
	if err != nil { // the history is gone: etcd has been compacted, so the cache lists anew
		w.fail(nil)
		w.next = time.Time{}
		w.begin()
		return
	}
	for _, c := range changes {
		if _, _, err := w.rest.read(w.ep, c.Key, c.Mark.Sealed); err != nil {
			w.stumble(c)
			return
		}
		w.upto = c.Revision
	}
	w.upto = upto
	if w.state == cacheStalled {
		w.state = cacheFollowing
		w.rest.server.view.Go(w.ep.table)
	}
}

// begin lists everything.
func (w *watchCache) begin() {
	view := w.rest.server.view
	view.Go(w.ep.table)
	found := view.List(w.ep.table, store.Query{Marked: true})
	now := w.rest.now()
	if err := w.rest.readable(w.ep, found, nil); err != nil {
		w.err, w.next = fmt.Errorf("failed to list %s: %w", w.ep.gr, err), now.Add(cacheRetry)
		return
	}
	w.state, w.err, w.changed = cacheFollowing, nil, now
	w.since, w.upto = found.Revision, found.Revision
}

// stumble is what comes of a write that cannot be read.
func (w *watchCache) stumble(c store.Change) {
	now := w.rest.now()
	switch {
	case c.Deleted:
		w.fail(nil)
	case w.state == cacheFollowing:
		w.state, w.stalled = cacheStalled, now
		w.rest.server.view.Stop(w.ep.table, c.Revision-1)
		w.tick()
	case now.Sub(w.stalled) > cachePatience:
		w.fail(nil)
	}
}

// tick looks after a stalled cache again and again.
func (w *watchCache) tick() {
	if w.ticking || w.rest.loader == nil {
		return
	}
	w.ticking = true
	w.rest.loader.After(cacheRetry, func() {
		w.ticking = false
		if w.state != cacheStalled {
			return
		}
		if w.follow(); w.state == cacheStalled {
			w.tick()
		}
	})
}

// fail ends all watches and empties the cache.
func (w *watchCache) fail(err error) {
	now := w.rest.now()
	if w.state == cacheFollowing {
		w.rest.server.view.Stop(w.ep.table, w.upto)
	}
	w.state, w.err, w.changed, w.next = cacheCold, err, now, now.Add(cacheRetry)
	for _, open := range w.rest.server.open() {
		if open.ep.table == w.ep.table {
			open.close()
		}
	}
}

// retryLater says after how many milliseconds of being unready Retry-After is a second
// longer: it is e to the power of 0.06 times the seconds, up to 30.
var retryLater = [...]int64{
	11553, 18311, 23105, 26824, 29863, 32432, 34658, 36621, 38377, 39965, 41416, 42750, 43985, 45135, 46210,
	47221, 48173, 49074, 49929, 50743, 51518, 52259, 52968, 53648, 54302, 54931, 55537, 56122, 56687,
}

// unready is the answer to who wants something of a cache that has nothing.
func (w *watchCache) unready() error {
	if w.state != cacheCold {
		return nil
	}
	msg := "storage is (re)initializing"
	if w.err != nil {
		msg += ": " + w.err.Error()
	}
	wait := 1
	for _, after := range retryLater {
		if w.rest.now().Sub(w.changed).Milliseconds() >= after {
			wait++
		}
	}
	return apierrors.NewTooManyRequests(msg, wait)
}

// holds reports whether the cache has the object as it is stored at that version, so
// that nobody need read it.
func (w *watchCache) holds(obj Object) bool {
	rev, err := parseVersion(obj.GetResourceVersion())
	return err == nil && rev <= w.upto
}
