package apiserver

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	optionsvalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkWriteOptions checks the options of a create, update or patch and notes a
// dry run.
func (c *call) checkWriteOptions(kind string) error {
	r := c.req
	if r.PatchType != types.ApplyYAMLPatchType && len(r.DryRun) == 0 && r.FieldManager == "" && r.FieldValidation == "" && r.Force == nil {
		return nil
	}
	var errs field.ErrorList
	switch kind {
	case "CreateOptions":
		errs = optionsvalidation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: r.DryRun, FieldManager: r.FieldManager, FieldValidation: r.FieldValidation})
	case "UpdateOptions":
		errs = optionsvalidation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: r.DryRun, FieldManager: r.FieldManager, FieldValidation: r.FieldValidation})
	default:
		errs = optionsvalidation.ValidatePatchOptions(&metav1.PatchOptions{DryRun: r.DryRun, FieldManager: r.FieldManager, FieldValidation: r.FieldValidation, Force: r.Force}, r.PatchType)
	}
	if len(errs) > 0 {
		return errOptions(kind, errs)
	}
	c.dryRun = len(r.DryRun) > 0
	return nil
}

// checkNames compares the names in the object with those in the path.
func (c *call) checkNames(obj Object) error {
	if err := c.placeIn(obj); err != nil {
		return err
	}
	switch name := obj.GetName(); {
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", c.req.Name))
	case name != c.req.Name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, c.req.Name))
	}
	return nil
}

// placeIn puts the object into the namespace of the request.
func (c *call) placeIn(obj Object) error {
	switch ns := obj.GetNamespace(); {
	case ns == c.ns:
	case ns == "" || c.ep.Cluster:
		obj.SetNamespace(c.ns)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// wipe drops what only the server sets.
func wipe(obj Object) {
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetUID("")
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
}

const (
	duplicateOwners = ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %s"
	afterAdmission  = " after mutating admission happens"
)

// dedupOwners drops owner references that are there twice, with a warning.
func (c *call) dedupOwners(obj Object, when string) {
	refs := obj.GetOwnerReferences()
	if len(refs) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var dropped []string
	for i := range refs {
		if hasOwner(kept, &refs[i]) {
			dropped = append(dropped, string(refs[i].UID))
			continue
		}
		kept = append(kept, refs[i])
	}
	if len(dropped) == 0 {
		return
	}
	c.warn(fmt.Sprintf(duplicateOwners, when, strings.Join(dropped, ", ")))
	obj.SetOwnerReferences(kept)
}

func hasOwner(refs []metav1.OwnerReference, r *metav1.OwnerReference) bool {
	flag := func(b *bool) int {
		switch {
		case b == nil:
			return 0
		case *b:
			return 1
		default:
			return 2
		}
	}
	for i := range refs {
		o := &refs[i]
		if o.UID == r.UID && o.APIVersion == r.APIVersion && o.Kind == r.Kind && o.Name == r.Name &&
			flag(o.Controller) == flag(r.Controller) && flag(o.BlockOwnerDeletion) == flag(r.BlockOwnerDeletion) {
			return true
		}
	}
	return false
}

// carry puts back into obj the metadata that no update changes.
func carry(obj, old Object) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if t := old.GetCreationTimestamp(); !t.IsZero() {
		obj.SetCreationTimestamp(t)
	}
	if t := old.GetDeletionTimestamp(); !t.IsZero() {
		obj.SetDeletionTimestamp(t)
	}
	if s := old.GetDeletionGracePeriodSeconds(); s != nil && obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(s)
	}
	if obj.GetSelfLink() != "" {
		obj.SetSelfLink("")
	}
}
