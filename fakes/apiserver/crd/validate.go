package crd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
)

// validateNew checks a new object.
func (v *version) validateNew(_ *registry.Context, obj registry.Object) field.ErrorList {
	c := v.compiled()
	if c.err != nil {
		return field.ErrorList{field.InternalError(nil, c.err)}
	}
	u := obj.(*unstructured.Unstructured)
	errs := v.checkType(u)
	if len(errs) == 0 {
		errs = append(errs, validation.ValidateCustomResource(nil, u.Object, c.whole)...)
		errs = append(errs, v.checkScale(u, true)...)
	}
	errs = append(errs, objectmeta.Validate(context.Background(), nil, u.Object, c.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, u.Object)...)
	return v.withRules(c, errs, u, nil)
}

// validateUpdate checks a change of the whole object. What was wrong before and
// has not changed is let through.
func (v *version) validateUpdate(_ *registry.Context, obj, old registry.Object) field.ErrorList {
	c := v.compiled()
	if c.err != nil {
		return field.ErrorList{field.InternalError(nil, c.err)}
	}
	u, was := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	pair := common.NewCorrelatedObject(u.Object, was.Object, &model.Structural{Structural: c.structural})
	errs := v.checkType(u)
	if len(errs) == 0 {
		errs = append(errs, c.changeErrors(nil, u.Object, was.Object, c.whole, validation.WithRatcheting(pair))...)
		errs = append(errs, v.checkScale(u, true)...)
	}
	errs = append(errs, objectmeta.Validate(context.Background(), nil, u.Object, c.structural, false)...)
	errs = append(errs, newListErrors(c, u, was)...)
	return v.withRules(c, errs, u, was, cel.WithRatcheting(pair))
}

// validateStatus checks a change of the status alone.
func (v *version) validateStatus(_ *registry.Context, obj, old registry.Object) field.ErrorList {
	c := v.compiled()
	if c.err != nil {
		return field.ErrorList{field.InternalError(nil, c.err)}
	}
	u, was := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	pair := common.NewCorrelatedObject(u.Object, was.Object, &model.Structural{Structural: c.structural})
	var options []validation.ValidationOption
	if c.structural != nil {
		options = append(options, validation.WithRatcheting(pair.Key("status")))
	}
	errs := v.checkType(u)
	if status, ok := u.Object["status"]; ok && len(errs) == 0 {
		errs = append(errs, c.changeErrors(field.NewPath("status"), status, was.Object["status"], c.status, options...)...)
	}
	if len(errs) == 0 {
		errs = append(errs, v.checkScale(u, false)...)
	}
	errs = append(errs, newListErrors(c, u, was)...)
	return v.withRules(c, errs, u, was, cel.WithRatcheting(pair))
}

// changeErrors checks a changed value against its schema. Values that are valid by
// themselves, which nearly all are, are not compared with what they were: that takes
// several times as long, and can only excuse what is wrong. It cannot be told so of
// schemas that want something to be wrong.
func (c *compiled) changeErrors(path *field.Path, value, was any, by validation.SchemaValidator, options ...validation.ValidationOption) field.ErrorList {
	if !c.negates && len(validation.ValidateCustomResource(path, value, by)) == 0 {
		return nil
	}
	return validation.ValidateCustomResourceUpdate(path, value, was, by, options...)
}

// newListErrors finds duplicates in sets and maps, unless there were some before.
func newListErrors(c *compiled, u, was *unstructured.Unstructured) field.ErrorList {
	errs := listtype.ValidateListSetsAndMaps(nil, c.structural, u.Object)
	if len(errs) > 0 && len(listtype.ValidateListSetsAndMaps(nil, c.structural, was.Object)) > 0 {
		return nil
	}
	return errs
}

const rulesUnchecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

// withRules adds what the rules in CEL find, if the object is sound enough for them.
func (v *version) withRules(c *compiled, errs field.ErrorList, u, old *unstructured.Unstructured, options ...cel.Option) field.ErrorList {
	errs = inOrder(errs)
	switch {
	case c.rules == nil:
		return errs
	case slices.ContainsFunc(errs, blocksRules), len(v.checkType(u)) == 0 && badMetadata(u, old):
		return append(errs, field.Invalid(nil, nil, rulesUnchecked)) // always the last
	}
	var before any
	if old != nil {
		before = old.Object
	}
	found, _ := c.rules.Validate(context.Background(), nil, c.structural, u.Object, before, celconfig.RuntimeCELCostBudget, options...)
	return append(errs, inOrder(withinBudget(found))...)
}

// badMetadata reports whether the metadata of an object, which are checked elsewhere,
// keep rules from being checked. Old is nil if the object is new.
func badMetadata(u, old *unstructured.Unstructured) bool {
	var errs field.ErrorList
	if old == nil {
		errs = apivalidation.ValidateObjectMetaAccessor(u, u.GetNamespace() != "", apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	} else if len(u.GetOwnerReferences()) > 0 { // of an update, nothing else can be wrong in such a way
		errs = apivalidation.ValidateObjectMetaAccessorUpdate(u, old, field.NewPath("metadata"))
	}
	return slices.ContainsFunc(errs, blocksRules)
}

// blocksRules reports whether an error keeps rules from being checked.
func blocksRules(e *field.Error) bool {
	switch e.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

const overBudget = "running out of cost budget"

// withinBudget returns errs, or if the budget was not enough, that alone: which
// rules had their turn before it ran out is a matter of chance.
func withinBudget(errs field.ErrorList) field.ErrorList {
	for _, e := range errs {
		if strings.Contains(e.Detail, overBudget) {
			return field.ErrorList{field.Invalid(nil, e.BadValue, e.Detail)}
		}
	}
	return errs
}

// inOrder sorts errors, which were found in the order of maps.
func inOrder(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		if order := strings.Compare(a.Field, b.Field); order != 0 {
			return order
		}
		return strings.Compare(a.Error(), b.Error())
	})
	return errs
}

// checkType checks that u is of the kind and version.
func (v *version) checkType(u *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	if kind := u.GetKind(); kind != v.gvk.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("must be %v", v.gvk.Kind)))
	}
	if got, want := u.GetAPIVersion(), v.gvk.GroupVersion().String(); got != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), got, fmt.Sprintf("must be %v", want)))
	}
	return errs
}
