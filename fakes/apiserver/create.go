package apiserver

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// nameTries is how often a name is generated before the server gives up.
const nameTries = 8

func (c *call) create() (*Response, error) {
	if err := c.checkWriteOptions("CreateOptions"); err != nil {
		return nil, err
	}
	obj, err := c.body()
	if err != nil {
		return nil, err
	}
	wipe(obj)
	if c.req.Name != "" && obj.GetName() == "" {
		obj.SetName(c.req.Name)
	}
	if err := c.placeIn(obj); err != nil {
		return nil, err
	}
	c.dedupOwners(obj, "")
	c.beginWrite(obj, nil)
	if err := c.admit(obj, nil); err != nil {
		return nil, err
	}
	c.dedupOwners(obj, afterAdmission)
	return c.insert(obj)
}

// insert stores a new object that has passed mutating admission.
func (c *call) insert(obj Object) (*Response, error) {
	obj.SetUID(c.store.newUID())
	obj.SetCreationTimestamp(c.now())
	generated := obj.GetGenerateName() != "" && obj.GetName() == ""
	if generated {
		c.pickName(obj)
	}
	if err := c.placeIn(obj); err != nil {
		return nil, err
	}
	if c.ep.Begin != nil {
		if err := c.ep.Begin(c.rulesContext(), obj, nil); err != nil {
			return nil, err
		}
	}
	c.ep.BeforeCreate(c.rulesContext(), obj)
	if err := c.validateNew(obj); err != nil {
		return nil, err
	}
	if err := c.mayCreate(); err != nil {
		return nil, err
	}
	if c.ep.Review != nil {
		if err := c.ep.Review(c.rulesContext(), obj, nil); err != nil {
			return nil, err
		}
	}
	if err := c.validateByHooks(admission.Create, obj, nil); err != nil {
		return nil, err
	}
	if err := c.chargeQuotas(obj); err != nil {
		return nil, err
	}
	key := store.Key{Namespace: c.ns, Name: obj.GetName()}
	if !c.dryRun { // a dry run neither looks at the version nor clears it
		if rv, err := parseVersion(obj.GetResourceVersion()); err == nil && rv != 0 {
			return nil, errPlain("resourceVersion should not be set on objects to be created")
		}
		obj.SetResourceVersion("")
	}
	c.settleRaw(obj)
	c.ep.Shape().Normalize(obj)
	if err := c.checkSize(obj); err != nil {
		return nil, err
	}
	mark := c.endWrite(obj, nil)
	obj, err := c.add(key, obj, mark)
	if err != nil {
		return nil, err
	}
	return c.answer(http.StatusCreated, obj, mark), nil
}

// settleRaw makes obj, which is valid, what it is when it is read again.
func (c *call) settleRaw(obj Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok && c.uncoerced {
		before := u.DeepCopy()
		if _, err := c.coerce(u); err == nil {
			c.raw = c.raw || !c.ep.Equal(u, before)
		}
	}
	if c.ep.Settle != nil && c.ep.Settle(obj) {
		c.raw = true
	}
}

// pickName gives obj a name that is free now.
func (c *call) pickName(obj Object) {
	for range nameTries {
		obj.SetName(c.store.generateName(obj.GetGenerateName()))
		if _, taken := c.ep.table.Get(store.Key{Namespace: c.ns, Name: obj.GetName()}); !taken {
			return
		}
	}
}

// validateNew checks a new object: first what its kind demands together with its
// name, then its metadata.
func (c *call) validateNew(obj Object) error {
	late := c.ep.LateMetadata && c.ep.Version == nil
	var errs field.ErrorList
	if !late {
		errs = c.ep.ValidateMetadata(obj)
	}
	if c.ep.Validate != nil {
		errs = append(errs, c.ep.Validate(c.rulesContext(), obj)...)
	}
	if late && len(errs) == 0 {
		errs = c.ep.ValidateMetadata(obj)
	}
	if len(errs) > 0 {
		return c.errInvalid(obj, tidy(errs))
	}
	if c.ep.Warn != nil {
		c.warnings = append(c.warnings, c.ep.Warn(obj, nil)...)
	}
	if c.ep.Canonicalize != nil {
		c.ep.Canonicalize(obj)
	}
	return nil
}

// tidy drops errors that were found twice, and sorts those about one field, which
// may have been found in the order of a map.
func tidy(errs field.ErrorList) field.ErrorList {
	if len(errs) < 2 {
		return errs
	}
	seen := map[string]bool{}
	var out field.ErrorList
	start := 0 // of the errors about the last field
	for _, e := range errs {
		text := e.Error()
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(out) > 0 && out[len(out)-1].Field != e.Field {
			start = len(out)
		}
		out = append(out, e)
		for i := len(out) - 1; i > start && out[i].Error() < out[i-1].Error(); i-- {
			out[i], out[i-1] = out[i-1], out[i]
		}
	}
	return out
}

// add stores obj unless its key is taken. It returns what is stored, as the request
// sees it.
func (c *call) add(key store.Key, obj Object, mark store.Mark) (Object, error) {
	stored, err := c.toStore(obj)
	if err != nil {
		return nil, err
	}
	if c.dryRun {
		if _, taken := c.ep.table.Get(key); taken {
			err = store.ErrExists
		}
	} else {
		if mark.Sealed, err = c.seal(c.ep, key, stored); err != nil {
			return nil, err
		}
		err = c.ep.table.CreateMarked(key, stored, mark)
		c.wrote(c.ep, err)
	}
	switch {
	case err == nil && stored != obj && !c.dryRun:
		return c.ep.seen(stored)
	case err == nil:
		return obj, nil
	case !errors.Is(err, store.ErrExists):
		return nil, err
	}
	exists := apierrors.NewAlreadyExists(c.ep.gr, key.Name)
	if obj.GetGenerateName() != "" {
		exists = apierrors.NewGenerateNameConflict(c.ep.gr, key.Name, 1)
	}
	if old, ok := c.ep.table.Get(key); ok && old.GetDeletionTimestamp() != nil {
		exists.ErrStatus.Message = "object is being deleted: " + exists.ErrStatus.Message
	}
	return nil, exists
}
