package apiserver

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Objects of kinds with a schema are stored in one version and seen in the one that
// was asked for. What is stored in the version that is asked for, by the schema that
// is in force, is seen as it is: the usual case costs nothing.

// seen returns a stored object as requests to the endpoint see it.
func (ep *endpoint) seen(stored Object) (Object, error) {
	if ep.Schema == nil || ep.Schema.Settled() && ep.settled(stored) {
		return stored, nil
	}
	return ep.Schema.Load(stored)
}

// settled reports whether an object was written under the definition that is in
// force.
func (ep *endpoint) settled(stored Object) bool {
	if ep.Definition.Since == 0 {
		return true
	}
	n, err := parseVersion(stored.GetResourceVersion())
	return err == nil && n > ep.Definition.Since
}

// seeAll replaces the items of r by what requests see.
func (ep *endpoint) seeAll(r *Response) error {
	copied := false
	for i, stored := range r.Items {
		obj, err := ep.seen(stored)
		if err != nil {
			return err
		}
		if obj == stored {
			continue
		}
		if !copied {
			r.Items, copied = append([]Object(nil), r.Items...), true
		}
		r.Items[i] = obj
	}
	return nil
}

// load reads the object at key from etcd. It returns it as the request sees it, and
// remembers what is stored there and its mark.
func (c *call) load(key store.Key) (Object, bool, error) {
	obj, ok, err := c.look(key)
	if err == nil && ok {
		if err = c.open(key); err != nil {
			return nil, false, errUnreadable(c.ep, key, err)
		}
	}
	return obj, ok, err
}

// look is load without opening what is stored.
func (c *call) look(key store.Key) (Object, bool, error) {
	stored, mark, ok := c.ep.table.Look(key)
	c.own.mark, c.own.sealed, c.own.opened = mark, mark.Sealed, false
	if !ok || c.ep.Schema == nil {
		return stored, ok, nil
	}
	c.base = stored
	obj, err := c.ep.seen(stored)
	return obj, err == nil, err
}

// toStore returns obj as it is to be stored.
func (c *call) toStore(obj Object) (Object, error) {
	if c.ep.Schema == nil {
		return obj, nil
	}
	return c.ep.Schema.Save(obj)
}

// put stores obj, with a mark, in place of old, which load has returned, and
// returns what is stored now as the request sees it.
func (c *call) put(key store.Key, obj, old Object, mark store.Mark) (Object, error) {
	var err error
	if c.ep.Schema == nil {
		if mark.Sealed, err = c.seal(c.ep, key, obj); err != nil {
			return nil, err
		}
		err = c.ep.table.UpdateMarked(key, obj, old, mark)
		c.wrote(c.ep, err)
		return obj, err
	}
	stored, err := c.ep.Schema.Save(obj)
	if err != nil {
		return nil, err
	}
	if mark.Sealed, err = c.seal(c.ep, key, stored); err != nil {
		return nil, err
	}
	err = c.ep.table.UpdateMarked(key, stored, c.base, mark)
	if c.wrote(c.ep, err); err != nil {
		return nil, err
	}
	return c.ep.seen(stored)
}

// drop removes old, which load has returned. It returns the last state, with the
// revision of its removal.
func (c *call) drop(key store.Key, old Object) (Object, error) {
	if c.ep.Schema == nil {
		last, err := c.ep.table.Delete(key, old)
		c.wrote(c.ep, err)
		return last, err
	}
	last, err := c.ep.table.Delete(key, c.base)
	c.wrote(c.ep, err)
	if err != nil || c.base == old {
		return last, err
	}
	return c.ep.Schema.Load(last)
}

// asStored reports whether obj, which equals what load has returned, would be
// stored as it is stored already. Otherwise a write that changes nothing brings the
// object up to date with its definition.
func (c *call) asStored(obj, old Object) bool {
	if c.ep.Schema == nil || old == c.base {
		return true
	}
	stored, err := c.ep.Schema.Save(obj)
	return err == nil && c.ep.Shape().Equal(stored, c.base)
}

// coerce does what the schema of the kind demands when an object is read. It
// returns what a strict reading complains about.
func (c *call) coerce(obj Object) ([]error, error) {
	if c.ep.Schema == nil {
		return nil, nil
	}
	unknown, err := c.ep.Schema.Coerce(obj, c.strict())
	if err != nil {
		return nil, err
	}
	var complaints []error
	for _, path := range unknown {
		complaints = append(complaints, fmt.Errorf("unknown field %q", path))
	}
	return complaints, nil
}

// coerceSent does the same to an object that was handed over as a Go value.
func (c *call) coerceSent(obj Object) error {
	complaints, err := c.coerce(obj)
	if err == nil {
		err = c.heed(complaints)
	}
	if err != nil {
		gvk := obj.GetObjectKind().GroupVersionKind()
		return c.errDecode(&gvk, err, nil)
	}
	return nil
}

// heed turns complaints about a body into warnings or an error.
func (c *call) heed(complaints []error) error {
	if len(complaints) == 0 {
		return nil
	}
	if c.directive() != metav1.FieldValidationWarn {
		return runtime.NewStrictDecodingError(complaints)
	}
	for _, e := range complaints {
		c.warnOf(e)
	}
	return nil
}
