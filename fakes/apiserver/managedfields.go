package apiserver

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Stored objects have no managed fields. Who owns what is noted in the marks of
// their versions, worked out when somebody wants to know, and put into copies.

// ownership is what a request has to do with the owners of fields.
type ownership struct {
	mark store.Mark // of the object that the request reads, or has read

	// sealed is what is stored of the object that the request has read. Opened says
	// that it has been opened, and then stale that it would be sealed in another way.
	sealed        *store.Sealed
	opened, stale bool
	draft         shape.Draft // of what was sent, before anything changed it

	// sent are the managed fields in the body; given says that there were any.
	sent  []metav1.ManagedFieldsEntry
	given bool

	// owners are those after the write, if they had to be worked out.
	owners *apply.Owners
	known  bool
}

// takeFields takes the managed fields out of an object that was sent.
func (c *call) takeFields(obj Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		metadata, _ := u.Object["metadata"].(map[string]any)
		list, present := metadata["managedFields"]
		if !present {
			return
		}
		if entries, isList := list.([]any); isList {
			c.own.given, c.own.sent = true, u.GetManagedFields()
			if len(entries) == 0 {
				c.own.sent = []metav1.ManagedFieldsEntry{}
			}
		}
		delete(metadata, "managedFields")
		return
	}
	if entries := obj.GetManagedFields(); entries != nil {
		c.own.given, c.own.sent = true, entries
		obj.SetManagedFields(nil)
	}
}

// target returns what the request writes to, as a target of ownership.
func (c *call) target() apply.Target { return c.ep.target(c.req.Subresource) }

// manager is the name of who makes the request.
func (c *call) manager() string { return apply.Name(c.req.FieldManager, c.req.UserAgent) }

// owners returns the owners of the fields of old, the object that was read; it may
// be nil.
func (c *call) owners(old Object) *apply.Owners { return c.store.ledger.Owners(c.own.mark, old) }

// beginWrite remembers obj, the object as it was sent or patched, before it is
// admitted. Old is nil if it is new.
func (c *call) beginWrite(obj, old Object) {
	c.own.draft.Drop()
	c.own.draft = shape.Draft{}
	if c.own.known {
		return // an apply
	}
	if c.own.given && c.req.Subresource == "" && c.takeOver(obj, old) {
		return
	}
	c.own.draft = c.ep.Shape().Draft(obj)
}

// takeOver works with the managed fields that were sent, if they are others than
// those of old.
func (c *call) takeOver(obj, old Object) bool {
	if apply.Reset(c.own.sent) {
		c.own.known = old != nil // a new object is as good as reset
		return c.own.known
	}
	base, err := apply.Decode(c.own.sent)
	if err != nil || base.Empty() {
		return false // unreadable: as if they had not been sent
	}
	if old != nil && apply.Identical(base, c.owners(old)) {
		return false
	}
	c.own.owners, c.own.known = c.target().Update(base, old, obj, c.manager(), c.now()), true
	return true
}

// settleOwners works out the owners after the write of obj, which is as it was
// sent.
func (c *call) settleOwners(obj, old Object) {
	if !c.own.known {
		c.own.owners = c.target().Update(c.owners(old), old, obj, c.manager(), c.now())
		c.own.known = true
	}
}

// endWrite returns the mark of obj, which is about to be stored in place of old.
func (c *call) endWrite(obj, old Object) store.Mark {
	mark := c.markWrite(obj, old)
	mark.Raw = c.raw
	return mark
}

func (c *call) markWrite(obj, old Object) store.Mark {
	if c.own.known {
		return apply.Settled(c.own.owners)
	}
	w := apply.Write{Target: c.target(), Name: c.manager(), Live: old, Object: obj, Time: c.now()}
	if sent := c.own.draft.Before(obj, c.unwritten()); sent != nil {
		w.Sent = sent.(Object)
	}
	return c.store.ledger.Note(c.own.mark, w)
}

// unwritten is the Go name of the top-level field that the request cannot write.
func (c *call) unwritten() string {
	switch {
	case c.req.Subresource == "status":
		return "Spec"
	case c.ep.Status != nil:
		return "Status"
	default:
		return ""
	}
}

// disowned reports whether a write of obj, which is the same as old, changes
// owners nevertheless. The time of an owner is put back, if nothing else is different;
// a selfLink is, though it is not stored.
func (c *call) disowned(obj, old Object, link string) bool {
	if !c.own.known {
		if c.own.mark.By == nil {
			return false
		}
		sent := obj
		if draft := c.own.draft.Before(obj, c.unwritten()); draft != nil {
			sent = draft.(Object)
		} else if o, worked := c.own.mark.By.(*apply.Owners); c.req.Subresource != "scale" && !(worked && o.Twofold()) {
			return false
		}
		c.settleOwners(sent, old)
	}
	if link != "" { // nobody puts times back that have gone
		return !apply.Identical(c.own.owners, c.owners(old))
	}
	return !apply.Same(c.own.owners, c.owners(old))
}

// show returns obj, a version with the mark m, as the request wants it: with or
// without its managed fields. It is read-only.
func (c *call) show(obj Object, m store.Mark) Object {
	if !c.req.ManagedFields {
		return obj
	}
	return withFields(obj, c.store.ledger.Owners(m, obj))
}

// withFields returns obj with owners as its managed fields. It is read-only.
func withFields(obj Object, owners *apply.Owners) Object {
	entries := owners.Entries()
	if len(entries) == 0 {
		return obj
	}
	obj = shape.ShallowCopy(obj).(Object)
	obj.SetManagedFields(entries)
	return obj
}

// ownFresh puts the managed fields into an object that is answered and not stored, as
// it was sent.
func (c *call) ownFresh(obj Object, kind schema.GroupVersionKind) {
	if !c.req.ManagedFields {
		return
	}
	named := func(o Object) Object {
		o = shape.ShallowCopy(o).(Object)
		o.GetObjectKind().SetGroupVersionKind(kind)
		return o
	}
	m := apply.NewManager(apply.Config{
		Kind: kind, Subresource: c.req.Subresource, Types: apply.UnknownTypes(),
		New: func() runtime.Object { return named(reflect.New(reflect.TypeOf(obj).Elem()).Interface().(Object)) },
	})
	owners := m.Update(nil, nil, named(obj), c.manager(), c.now())
	obj.SetManagedFields(apply.CopyEntries(owners.Entries()))
}

const invalidFields = ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: %v"

// lend puts the managed fields into an object that hooks look at, and returns a
// function that takes them away again, with what hooks have made of them.
func (c *call) lend(obj, old Object) (restore func()) {
	sent := obj
	if o := c.own.draft.Before(obj, c.unwritten()); o != nil {
		sent = o.(Object) // before built-in admission
	}
	c.settleOwners(sent, old)
	before := c.own.owners.Entries()
	obj.SetManagedFields(before)
	return func() {
		c.own.given, c.own.sent = false, nil
		c.takeFields(obj)
		if !c.own.given && len(before) == 0 {
			return
		}
		after, err := apply.Decode(c.own.sent)
		if err != nil {
			c.warn(fmt.Sprintf(invalidFields, err))
			return
		}
		c.own.owners = after
	}
}
