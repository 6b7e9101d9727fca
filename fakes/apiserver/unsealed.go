package apiserver

import (
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// What comes of values that cannot be opened. Each path of a real server puts the reason
// into other words.

// corrupt is a value that cannot be opened, or that is no object when it is.
func corrupt(err error) error {
	if encryption.IsGarbage(err) {
		return fmt.Errorf("object not decodable revision=0: %w", err)
	}
	return fmt.Errorf("data from the storage is not transformable revision=0: %w", err)
}

// corruptAt is corrupt as the layers above the storage tell it.
func corruptAt(key string, err error) error {
	return fmt.Errorf("StorageError: corrupt object, Code: 7, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %w", key, corrupt(err))
}

// errUnsealed is the answer to a write that cannot be sealed.
func errUnsealed(err error) error { return apierrors.NewInternalError(err) }

// errUnreadable is the answer to get and delete.
func errUnreadable(ep *endpoint, k store.Key, err error) error {
	return apierrors.NewInternalError(corruptAt("/"+storagePrefix(ep)+"/"+k.String(), err))
}

// errUnchangeable is the answer to an update.
func errUnchangeable(err error) error { return apierrors.NewInternalError(corrupt(err)) }

// corruptMax is how many values a list tells of that cannot be opened.
const corruptMax = 100

// readable reads all that was found. The error names what cannot be read.
func (r *atRest) readable(ep *endpoint, found store.Result, took *time.Duration) error {
	var causes []metav1.StatusCause
	var first error
	n := 0
	for i, o := range found.Objects {
		k := store.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
		_, d, err := r.read(ep, k, found.Marks[i].Sealed)
		if took != nil {
			*took += d
		}
		if err == nil {
			continue
		}
		key := ep.etcdKey(k)
		err = corruptAt(key, err)
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Field: key, Message: err.Error()})
		if n++; n == 1 {
			first = err
		}
		if n == corruptMax {
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated"})
			break
		}
	}
	if n == 0 {
		return nil
	}
	gr := ep.GroupResource()
	msg := fmt.Sprintf("failed to read one or more %s from the storage: %v", gr, first)
	if n > 1 {
		msg += fmt.Sprintf(" (and %d more)", n-1)
	}
	return statusError(http.StatusInternalServerError, metav1.StatusReasonStoreReadError, msg,
		&metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: "list", Causes: causes})
}

// open reads what is stored of the object at key, which the request has loaded. The
// error is the reason, in nobody's words yet.
func (c *call) open(key store.Key) error {
	r := c.rest.Load()
	if r == nil {
		return nil
	}
	stale, took, err := r.read(c.ep, key, c.own.sealed)
	c.took += took
	c.own.opened, c.own.stale = err == nil, stale
	return err
}

// loadToWrite is load for those who change the object. They take it from the watch
// cache if that has it, and do not read it again.
func (c *call) loadToWrite(key store.Key) (Object, bool, error) {
	obj, ok, err := c.look(key)
	if err != nil || !ok {
		return obj, ok, err
	}
	if r := c.rest.Load(); r != nil && (c.ep.Uncached || !r.cache(c.ep).holds(obj)) {
		if err := c.open(key); err != nil {
			return nil, false, errUnchangeable(err)
		}
	}
	return obj, true, nil
}

// stale reports whether a write that changes nothing has to be made, as the object would
// be sealed in another way now.
func (c *call) stale(key store.Key) (bool, error) {
	if c.rest.Load() == nil {
		return false, nil
	}
	if !c.own.opened {
		if err := c.open(key); err != nil {
			return false, errUnchangeable(err)
		}
	}
	return c.own.stale, nil
}

// listCached lists what the watch cache holds, or says that there is none.
func (c *call) listCached(q store.Query, sel chosen) (store.Result, error) {
	if r := c.rest.Load(); r != nil && !c.ep.Uncached && !c.ghostly() {
		if err := r.cache(c.ep).unready(); err != nil {
			if sel.empty && q.Limit > 0 {
				return c.listStored(q)
			}
			return store.Result{}, err
		}
	}
	return c.view.List(c.ep.table, q), nil
}

// listLatest lists what is there now: from the watch cache if that has it, else from
// etcd, after having waited for the cache.
func (c *call) listLatest(q store.Query, sel chosen) (store.Result, error) {
	r := c.rest.Load()
	if r == nil || c.ghostly() {
		return c.ep.table.List(q)
	}
	if c.ep.Uncached {
		return c.listStored(q)
	}
	w := r.cache(c.ep)
	if err := w.unready(); err != nil {
		if sel.empty && q.Limit > 0 {
			return c.listStored(q)
		}
		return store.Result{}, err
	}
	if c.view.Seen(c.ep.table) < c.store.data.Revision() {
		c.took += cacheWait
		return c.listStored(q)
	}
	return c.ep.table.List(q)
}

// listAt lists an old state: from the snapshots of the watch cache if it was there then.
func (c *call) listAt(q store.Query) (store.Result, error) {
	r := c.rest.Load()
	if r == nil || c.ghostly() {
		return c.ep.table.List(q)
	}
	if !c.ep.Uncached && q.Revision > 0 {
		if w := r.cache(c.ep); w.state != cacheCold && q.Revision >= w.since && q.Revision <= w.upto {
			return c.ep.table.List(q)
		}
	}
	return c.listStored(q)
}

// listStored lists from etcd, and reads all that it finds.
func (c *call) listStored(q store.Query) (store.Result, error) {
	r := c.rest.Load()
	if r == nil {
		return c.ep.table.List(q)
	}
	wanted := q.Marked
	q.Marked = true
	found, err := c.ep.table.List(q)
	if err != nil {
		return found, err
	}
	if err := r.readable(c.ep, found, &c.took); err != nil {
		return store.Result{}, err
	}
	if !wanted {
		found.Marks = nil
	}
	return found, nil
}

// readEvent reads an event of a kind without a watch cache, whose watches come from etcd.
func (r *atRest) readEvent(ep *endpoint, e store.Entry) error {
	k := store.Key{Namespace: e.Object.GetNamespace(), Name: e.Object.GetName()}
	_, _, err := r.read(ep, k, e.Mark.Sealed)
	switch {
	case err == nil:
		return nil
	case e.Kind == store.Deleted:
		return statusError(http.StatusInternalServerError, metav1.StatusReasonStoreReadError,
			"saw a DELETED event, but object data is corrupt - "+corrupt(err).Error(), nil)
	default:
		return apierrors.NewInternalError(corrupt(err))
	}
}

// ghostly reports whether the server reads everything whoever has sealed it.
func (s *Server) ghostly() bool { return s.ghost.Load() != nil }

// eraseUnread deletes an object that cannot be read, whatever holds it. Nobody is asked
// but the authorizer, as there is no object to show.
func (c *call) eraseUnread() (*Response, error) {
	if err := c.mayEraseUnread(); err != nil {
		return nil, err
	}
	key := c.key()
	for {
		obj, mark, ok := c.ep.table.Look(key)
		if !ok {
			return nil, c.errNotFound()
		}
		var err error
		if r := c.rest.Load(); r != nil {
			_, c.took, err = r.read(c.ep, key, mark.Sealed)
		}
		if err == nil {
			return nil, apierrors.NewConflict(c.ep.gr, key.Name, fmt.Errorf(
				"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage", c.ep.etcdKey(key)))
		}
		if !c.dryRun {
			_, err := c.ep.table.Delete(key, obj)
			c.wrote(c.ep, err)
			if err != nil {
				continue // somebody else has written it
			}
		}
		return &Response{Code: http.StatusOK, Status: &metav1.Status{
			Status: metav1.StatusSuccess, Code: http.StatusOK,
			Details: &metav1.StatusDetails{Name: key.Name, Kind: c.ep.GroupVersionKind.Kind},
		}}, nil
	}
}

// mayEraseUnread asks for the permission that only unsafe deletions need.
func (c *call) mayEraseUnread() error {
	if c.req.User == nil || c.store.opts.Authorizer == nil {
		return nil
	}
	a := &authz.Attributes{
		User: c.req.User, Verb: "unsafe-delete-ignore-read-errors", Group: c.req.Resource.Group, Resource: c.req.Resource.Resource,
		Namespace: c.ns, Name: c.req.Name,
	}
	if ok, reason := c.store.opts.Authorizer.Authorize(a); !ok {
		if c.store.opts.Refused != nil {
			c.store.opts.Refused(a)
		}
		return authz.Forbidden(a, reason)
	}
	return nil
}
