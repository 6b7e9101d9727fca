package apiserver

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

var jobResource = schema.GroupResource{Group: batchv1.GroupName, Resource: "jobs"}

// chosen is what a list, watch or deletecollection selects.
type chosen struct {
	store.Selector
	empty bool // nothing but the namespace
}

// selectObjects reads the selectors of the request, after the other options have
// been checked.
func (c *call) selectObjects() (chosen, error) {
	sel := chosen{Selector: store.Selector{Namespace: c.ns}}
	labelSel, fieldSel := c.req.Labels, c.req.Fields
	var err error
	if labelSel == nil && c.req.LabelSelector != "" {
		if labelSel, err = labels.Parse(c.req.LabelSelector); err != nil {
			return sel, apierrors.NewBadRequest(err.Error())
		}
	}
	if fieldSel == nil && c.req.FieldSelector != "" {
		if fieldSel, err = fields.ParseSelector(c.req.FieldSelector); err != nil {
			return sel, apierrors.NewBadRequest(err.Error())
		}
	}
	if err := c.checkListOptions(); err != nil {
		return sel, err
	}
	if labelSel != nil && !labelSel.Empty() {
		sel.Labels = labelSel
	}
	if fieldSel != nil && !fieldSel.Empty() {
		if err := c.selectFields(&sel.Selector, fieldSel); err != nil {
			return sel, err
		}
	}
	sel.empty = sel.Labels == nil && len(sel.Terms) == 0 && sel.Name == "" && sel.Namespace == c.ns
	return sel, nil
}

// checkListOptions refuses combinations of options that mean nothing.
func (c *call) checkListOptions() error {
	req := c.req
	if req.ResourceVersionMatch == "" && req.SendInitialEvents == nil {
		if req.Verb == WatchVerb && req.Continue != "" && (req.ResourceVersion == "" || req.ResourceVersion == "0") {
			// Such a watch is taken for one that asks for initial events, which no page goes on with.
			return errOptions("ListOptions", field.ErrorList{field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch is forbidden when continue is provided")})
		}
		return nil // nothing to combine
	}
	errs := listvalidation.ValidateListOptions(&internalversion.ListOptions{
		Watch:                req.Verb == WatchVerb,
		ResourceVersion:      req.ResourceVersion,
		ResourceVersionMatch: req.ResourceVersionMatch,
		Continue:             req.Continue,
		SendInitialEvents:    req.SendInitialEvents,
	}, !c.store.opts.NoWatchList)
	if len(errs) > 0 {
		return errOptions("ListOptions", errs)
	}
	return nil
}

func (c *call) selectFields(sel *store.Selector, fieldSel fields.Selector) error {
	for _, r := range fieldSel.Requirements() {
		f := c.field(r.Field)
		if f == nil {
			return c.errField(r.Field)
		}
		exact := r.Operator == selection.Equals || r.Operator == selection.DoubleEquals
		switch {
		case exact && f.Name == "metadata.name" && sel.Name == "" && r.Value != "":
			sel.Name = r.Value
		case exact && f.Name == "metadata.namespace" && sel.Namespace == "" && r.Value != "":
			sel.Namespace = r.Value
		default:
			sel.Terms = append(sel.Terms, store.Term{Field: f, Value: r.Value, Not: !exact})
		}
	}
	return nil
}

// field returns the field that name stands for in the version of the request.
func (c *call) field(name string) *store.Field {
	if v := c.ep.Version; v != nil && name != "metadata.name" && name != "metadata.namespace" {
		stored, ok := v.Fields[name]
		if !ok {
			return nil
		}
		name = stored
	}
	return c.ep.Field(name)
}

func (c *call) errField(name string) error {
	if c.ep.gr == jobResource {
		return apierrors.NewBadRequest(fmt.Sprintf("field label %q not supported for Job", name))
	}
	if c.ep.PlainFieldError || c.ep.Custom {
		return apierrors.NewBadRequest("field label not supported: " + name)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only %q, %q", name, "metadata.name", "metadata.namespace"))
}

// exactName returns the name that a metadata.name selector demands, for
// authorization: rules with resourceNames allow such a list or watch.
func exactName(req *Request) string {
	sel := req.Fields
	if sel == nil && req.FieldSelector != "" {
		parsed, err := fields.ParseSelector(req.FieldSelector)
		if err != nil {
			return "" // refused later, if the user may list at all
		}
		sel = parsed
	}
	if sel == nil {
		return ""
	}
	name, _ := sel.RequiresExactMatch(metav1.ObjectNameField)
	return name
}
