package crd

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

// Condition types as they are set here have no time: [SetCondition] gives it.
type condition = apiextensions.CustomResourceDefinitionCondition

// SetCondition sets a condition of d's status. Its time changes with its status.
func SetCondition(d *apiextensions.CustomResourceDefinition, c condition, now metav1.Time) {
	c.LastTransitionTime = now
	was := apihelpers.FindCRDCondition(d, c.Type)
	if was == nil {
		d.Status.Conditions = append(d.Status.Conditions, c)
		return
	}
	if was.Status == c.Status && !was.LastTransitionTime.IsZero() {
		c.LastTransitionTime = was.LastTransitionTime
	}
	*was = c
}

// AcceptNames makes in d, which it changes, the names accepted that nobody else in
// the group has, and says so in its conditions. Others are the definitions of the
// group, d or not. It reports whether anything has changed.
func AcceptNames(d *apiextensions.CustomResourceDefinition, others []*apiextensions.CustomResourceDefinition, now metav1.Time) bool {
	if equality.Semantic.DeepEqual(d.Spec.Names, d.Status.AcceptedNames) {
		return false
	}
	taken := takenNames(d.Spec.Group, others)
	accepted, naming := taken.accept(d)
	if equality.Semantic.DeepEqual(d.Status.AcceptedNames, accepted) &&
		apihelpers.IsCRDConditionEquivalent(&naming, apihelpers.FindCRDCondition(d, apiextensions.NamesAccepted)) {
		return false
	}
	established := condition{
		Type: apiextensions.Established, Status: apiextensions.ConditionFalse,
		Reason: "NotAccepted", Message: "not all names are accepted",
	}
	if was := apihelpers.FindCRDCondition(d, apiextensions.Established); was != nil {
		established = *was
	}
	if established.Status != apiextensions.ConditionTrue && naming.Status == apiextensions.ConditionTrue {
		established = condition{
			Type: apiextensions.Established, Status: apiextensions.ConditionFalse,
			Reason: "Installing", Message: "the initial names have been accepted",
		}
	}
	d.Status.AcceptedNames = accepted
	SetCondition(d, naming, now)
	SetCondition(d, established, now)
	return true
}

// Establish marks d as served once its names are accepted. It reports whether
// anything has changed.
func Establish(d *apiextensions.CustomResourceDefinition, now metav1.Time) bool {
	if !apihelpers.IsCRDConditionTrue(d, apiextensions.NamesAccepted) || apihelpers.IsCRDConditionTrue(d, apiextensions.Established) {
		return false
	}
	c := condition{
		Type: apiextensions.Established, Status: apiextensions.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	}
	if !soundBundle(d.Spec.Conversion) {
		c = condition{
			Type: apiextensions.Established, Status: apiextensions.ConditionFalse,
			Reason: "InvalidCABundle", Message: "The conversion webhook CABundle is invalid",
		}
	}
	if apihelpers.IsCRDConditionEquivalent(&c, apihelpers.FindCRDCondition(d, apiextensions.Established)) {
		return false
	}
	SetCondition(d, c, now)
	return true
}

func soundBundle(c *apiextensions.CustomResourceConversion) bool {
	return c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil ||
		len(webhook.ValidateCABundle(field.NewPath(""), c.Webhook.ClientConfig.CABundle)) == 0
}

// Approve notes in d whether a definition in a group of the Kubernetes community
// may be there. It reports whether anything has changed.
func Approve(d *apiextensions.CustomResourceDefinition, now metav1.Time) bool {
	if !apihelpers.IsProtectedCommunityGroup(d.Spec.Group) {
		return false
	}
	c := condition{Type: apiextensions.KubernetesAPIApprovalPolicyConformant, Status: apiextensions.ConditionFalse}
	state, message := apihelpers.GetAPIApprovalState(d.Annotations)
	c.Message = message
	switch state {
	case apihelpers.APIApproved:
		c.Status, c.Reason = apiextensions.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		c.Reason = "UnapprovedAnnotation"
	case apihelpers.APIApprovalMissing:
		c.Reason = "MissingAnnotation"
	default:
		c.Reason = "InvalidAnnotation"
	}
	if apihelpers.IsCRDConditionEquivalent(&c, apihelpers.FindCRDCondition(d, c.Type)) {
		return false
	}
	SetCondition(d, c, now)
	return true
}

// names are those in use in a group.
type names struct{ resources, kinds map[string]bool }

func takenNames(group string, definitions []*apiextensions.CustomResourceDefinition) names {
	n := names{map[string]bool{}, map[string]bool{}}
	for _, d := range definitions {
		if d.Spec.Group != group {
			continue
		}
		a := d.Status.AcceptedNames
		for _, name := range append([]string{a.Plural, a.Singular}, a.ShortNames...) {
			n.resources[name] = true
		}
		n.kinds[a.Kind], n.kinds[a.ListKind] = true, true
	}
	return n
}

// accept returns the names that d may have, and the condition that says so.
func (n names) accept(d *apiextensions.CustomResourceDefinition) (apiextensions.CustomResourceDefinitionNames, condition) {
	wanted, had := d.Spec.Names, d.Status.AcceptedNames
	out := had
	c := condition{
		Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue,
		Reason: "NoConflicts", Message: "no conflicts found",
	}
	// settle gives *name to wanted, unless somebody else has it.
	settle := func(name *string, wanted string, taken map[string]bool, reason string) {
		if wanted != *name && taken[wanted] {
			c.Status, c.Reason, c.Message = apiextensions.ConditionFalse, reason, inUse(wanted).Error()
			return
		}
		*name = wanted
	}
	settle(&out.Plural, wanted.Plural, n.resources, "PluralConflict")
	settle(&out.Singular, wanted.Singular, n.resources, "SingularConflict")
	var clashes []error
	for _, short := range wanted.ShortNames {
		if !slices.Contains(had.ShortNames, short) && n.resources[short] {
			clashes = append(clashes, inUse(short))
		}
	}
	if len(clashes) > 0 {
		c.Status, c.Reason, c.Message = apiextensions.ConditionFalse, "ShortNamesConflict", utilerrors.NewAggregate(clashes).Error()
	} else {
		out.ShortNames = wanted.ShortNames
	}
	settle(&out.Kind, wanted.Kind, n.kinds, "KindConflict")
	settle(&out.ListKind, wanted.ListKind, n.kinds, "ListKindConflict")
	out.Categories = wanted.Categories
	return out, c
}

func inUse(name string) error { return fmt.Errorf("%q is already in use", name) }
