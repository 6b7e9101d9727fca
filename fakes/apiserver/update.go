package apiserver

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// target is what a write to an existing object is about: the object itself or
// one of its subresources.
type target struct {
	// prepare makes of the object sent, or patched, what is to be stored. It is
	// called after the resourceVersion has been compared. Same says that nothing
	// but metadata and status may differ.
	prepare func(c *call, obj, old Object) (out Object, same bool)

	// validate checks what prepare has made, apart from metadata. Content that is
	// the same has been checked before.
	validate func(c *call, obj, old Object, same bool) field.ErrorList

	// admit and charge are built-in admission of what is valid, before and after the
	// hooks; nil if there is none.
	admit, charge func(c *call, obj, old Object) error

	// creates says that a missing object may be made by a PUT.
	creates bool

	// whole says that the target is the object itself, for which the kind may
	// allocate, and warn.
	whole bool
}

var mainTarget = target{
	creates: true,
	whole:   true,
	admit: func(c *call, obj, old Object) error {
		if c.ep.Review == nil {
			return nil
		}
		return c.ep.Review(c.rulesContext(), obj, old)
	},
	charge: (*call).chargeChange,
	prepare: func(c *call, obj, old Object) (Object, bool) {
		return obj, c.ep.BeforeUpdate(c.rulesContext(), obj, old)
	},
	validate: func(c *call, obj, old Object, same bool) field.ErrorList {
		if c.ep.ValidateUpdate == nil || same && !c.ep.Revalidate {
			return nil
		}
		return c.ep.ValidateUpdate(c.rulesContext(), obj, old)
	},
}

var statusTarget = target{
	prepare: func(c *call, obj, old Object) (Object, bool) {
		return c.ep.BeforeStatus(c.rulesContext(), obj, old), true
	},
	validate: func(c *call, obj, old Object, _ bool) field.ErrorList {
		if c.ep.Status.Validate == nil {
			return nil
		}
		return c.ep.Status.Validate(c.rulesContext(), obj, old)
	},
}

func (c *call) update(t *target) (*Response, error) {
	if err := c.checkWriteOptions("UpdateOptions"); err != nil {
		return nil, err
	}
	obj, err := c.derived()
	if err != nil {
		return nil, err
	}
	if err := c.checkNames(obj); err != nil {
		return nil, err
	}
	c.dedupOwners(obj, "")
	return c.replace(t, obj)
}

// replace puts obj, which was sent as a whole, in place of the stored object.
func (c *call) replace(t *target, obj Object) (*Response, error) {
	key, uid := c.key(), obj.GetUID()
	again := obj // what is left of obj for another try
	for {
		old, ok, err := c.loadToWrite(key)
		if err != nil {
			return nil, err
		}
		if !ok {
			if !t.creates || !c.ep.Write.PutCreates {
				return nil, c.errNotFound()
			}
			if uid != "" {
				return nil, c.errOtherUID(key, uid, "")
			}
			return c.createByPut(obj)
		}
		if uid != "" && uid != old.GetUID() {
			return nil, c.errOtherUID(key, uid, old.GetUID())
		}
		if !c.store.hooks.Empty() || c.unconditional(obj) {
			again = obj.DeepCopyObject().(Object) // admission changes it, and another write may come between
		}
		c.beginWrite(obj, old)
		if err := c.admit(obj, old); err != nil {
			return nil, err
		}
		c.dedupOwners(obj, afterAdmission)
		r, err := c.commit(t, obj, old)
		if !errors.Is(err, store.ErrConflict) {
			return r, err
		}
		obj = again
	}
}

// unconditional reports whether obj may replace whatever is stored.
func (c *call) unconditional(obj Object) bool {
	rv := obj.GetResourceVersion()
	return rv == "" || rv == "0"
}

func (c *call) createByPut(obj Object) (*Response, error) {
	c.creating = true
	version := obj.GetResourceVersion()
	c.beginWrite(obj, nil)
	wipe(obj)
	obj.SetResourceVersion("")
	if err := c.admit(obj, nil); err != nil {
		return nil, err
	}
	if _, err := parseVersion(version); err != nil {
		return nil, err
	}
	c.dedupOwners(obj, afterAdmission)
	return c.insert(obj)
}

// commit stores obj in place of old. The error is store.ErrConflict, and nothing
// has happened, if another write came between.
func (c *call) commit(t *target, obj, old Object) (*Response, error) {
	if err := c.checkVersion(obj, old); err != nil {
		return nil, err
	}
	obj.SetResourceVersion(old.GetResourceVersion())
	if err := c.placeIn(obj); err != nil {
		return nil, err
	}
	obj.SetGeneration(old.GetGeneration())
	if t.whole && c.ep.Begin != nil {
		if err := c.ep.Begin(c.rulesContext(), obj, old); err != nil {
			return nil, err
		}
	}
	obj, same := t.prepare(c, obj, old)
	if t.whole && c.ep.Custom && obj.GetObjectKind().GroupVersionKind().GroupKind() != old.GetObjectKind().GroupVersionKind().GroupKind() {
		same = false // of another kind, which validation has to say
	}
	link := obj.GetSelfLink() // it is never stored, but nobody takes it away before
	carry(obj, old)
	if err := c.validateChange(t, obj, old, same); err != nil {
		return nil, err
	}
	c.settleRaw(obj)
	same = same && !c.raw && !c.own.mark.Raw && c.ep.SameRest(obj, old) && c.asStored(obj, old)
	if err := c.admitValid(t, obj, old); err != nil {
		return nil, err
	}
	switch {
	case c.released(obj, old):
		setLink(obj, link)
		return c.release(obj, old)
	case same && !c.disowned(obj, old, link): // no event, no new version, unless it is to be sealed anew
		if stale, err := c.stale(c.key()); err != nil {
			return nil, err
		} else if stale && !c.dryRun {
			break
		}
		if c.dryRun && link != "" {
			old = shape.ShallowCopy(old).(Object)
			old.SetSelfLink(link)
		}
		return c.answer(http.StatusOK, old, c.own.mark), nil
	}
	c.ep.Shape().Normalize(obj)
	if err := c.checkSize(obj); err != nil {
		return nil, err
	}
	mark := c.endWrite(obj, old)
	if c.req.Subresource == "scale" && c.ep.Schema != nil {
		// The spec may be new, whose defaults are filled in by whoever reads it, and
		// belong to nobody.
		var err error
		if obj, err = c.ep.Schema.Load(obj); err != nil {
			return nil, err
		}
	}
	if !c.dryRun {
		var err error
		if obj, err = c.put(c.key(), obj, old, mark); err != nil {
			return nil, c.storageError(err)
		}
	} else {
		setLink(obj, link)
	}
	return c.answer(http.StatusOK, obj, mark), nil
}

// admitValid asks those who may refuse what is valid.
func (c *call) admitValid(t *target, obj, old Object) error {
	if t.admit != nil {
		if err := t.admit(c, obj, old); err != nil {
			return err
		}
	}
	if err := c.validateByHooks(admission.Update, obj, old); err != nil || t.charge == nil {
		return err
	}
	return t.charge(c, obj, old)
}

// setLink puts back a selfLink that was sent, if one was.
func setLink(obj Object, link string) {
	if link != "" {
		obj.SetSelfLink(link)
	}
}

// checkVersion compares the resourceVersion that was sent with the stored one.
func (c *call) checkVersion(obj, old Object) error {
	rv := obj.GetResourceVersion()
	if rv == old.GetResourceVersion() {
		return nil
	}
	n, err := parseVersion(rv)
	switch {
	case err != nil:
		return errPlain(err.Error())
	case n != 0:
		return c.errConflict(c.req.Name)
	case c.ep.Write.PutNeedsVersion:
		errs := field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")}
		return apierrors.NewInvalid(schema.GroupKind{Group: c.ep.gr.Group, Kind: c.ep.gr.Resource}, c.req.Name, errs)
	}
	return nil
}

func (c *call) validateChange(t *target, obj, old Object, same bool) error {
	errs := c.ep.ValidateMetadataUpdate(obj, old)
	errs = append(errs, t.validate(c, obj, old, same)...)
	if len(errs) > 0 {
		if !c.ep.Custom { // of whose metadata a real server says everything several times
			errs = tidy(errs)
		}
		return c.errInvalid(obj, errs)
	}
	if t.whole && c.ep.Warn != nil {
		c.warnings = append(c.warnings, c.ep.Warn(obj, old)...)
	}
	if c.ep.Canonicalize != nil {
		c.ep.Canonicalize(obj)
	}
	return nil
}

// released reports whether obj is being deleted and this write takes away the
// last thing that held it.
func (c *call) released(obj, old Object) bool {
	if len(obj.GetFinalizers()) > 0 || old.GetDeletionTimestamp() == nil {
		return false
	}
	if grace := old.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		return false
	}
	return c.ep.gr != namespaceResource.GroupResource() || finalized(obj)
}

// release removes the object. The answer is what would have been stored, at its
// old version; watchers see the state before, and never what this write changed.
func (c *call) release(obj, old Object) (*Response, error) {
	if !c.dryRun {
		if _, err := c.drop(c.key(), old); err != nil {
			return nil, c.storageError(err)
		}
	}
	return c.answer(http.StatusOK, obj, c.endWrite(obj, old)), nil
}

func (c *call) storageError(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return store.ErrConflict // look again
	}
	return err
}
