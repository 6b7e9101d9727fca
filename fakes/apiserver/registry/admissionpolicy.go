package registry

import (
	"regexp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/policy"
)

var admissionPolicies = &Kind{
	GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"),
	Names:            Names{Plural: "validatingadmissionpolicies", Categories: []string{"api-extensions"}},
	Cluster:          true,
	Prototype:        &admissionv1.ValidatingAdmissionPolicy{},
	Generation:       SpecOnly,
	Write:            WriteRules{PutNeedsVersion: true},
	Status:           &Status{},
	Default: func(obj Object) {
		s := &obj.(*admissionv1.ValidatingAdmissionPolicy).Spec
		fill(&s.FailurePolicy, admissionv1.Fail)
		defaultMatch(s.MatchConstraints)
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateAdmissionPolicy(&obj.(*admissionv1.ValidatingAdmissionPolicy).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validateAdmissionPolicy(&obj.(*admissionv1.ValidatingAdmissionPolicy).Spec)
	},
}

var admissionPolicyBindings = &Kind{
	GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"),
	Names:            Names{Plural: "validatingadmissionpolicybindings", Categories: []string{"api-extensions"}},
	Cluster:          true,
	Prototype:        &admissionv1.ValidatingAdmissionPolicyBinding{},
	Generation:       SpecOnly,
	Write:            WriteRules{PutNeedsVersion: true},
	Default: func(obj Object) {
		defaultMatch(obj.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec.MatchResources)
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validatePolicyBinding(&obj.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validatePolicyBinding(&obj.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec)
	},
}

func defaultMatch(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	fill(&m.MatchPolicy, admissionv1.Equivalent)
	fill(&m.NamespaceSelector, metav1.LabelSelector{})
	fill(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			fill(&rules[i].Scope, admissionv1.AllScopes)
		}
	}
}

func validateAdmissionPolicy(s *admissionv1.ValidatingAdmissionPolicySpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := oneOf(p.Child("failurePolicy"), *s.FailurePolicy, admissionv1.Fail, admissionv1.Ignore)
	if s.ParamKind != nil {
		errs = append(errs, validateParamKind(s.ParamKind, p.Child("paramKind"))...)
	}
	if s.MatchConstraints == nil {
		errs = append(errs, field.Required(p.Child("matchConstraints"), ""))
	} else {
		errs = append(errs, validateMatch(s.MatchConstraints, p.Child("matchConstraints"))...)
		if len(s.MatchConstraints.ResourceRules) == 0 {
			errs = append(errs, field.Required(p.Child("matchConstraints", "resourceRules"), ""))
		}
	}
	conditions, rest := policy.Check(s)
	errs = append(errs, conditions...)
	errs = append(errs, validateNames(s, p)...)
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		for _, name := range []string{"validations", "auditAnnotations"} {
			errs = append(errs, field.Required(p.Child(name), "validations or auditAnnotations must contain at least one item"))
		}
	}
	errs = append(errs, rest...)
	for i, v := range s.Validations {
		if v.Reason != nil {
			errs = append(errs, oneOf(p.Child("validations").Index(i).Child("reason"), *v.Reason,
				metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)...)
		}
	}
	return errs
}

var celIdentifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// conditionName checks the name of a match condition, and adds it to those seen.
func conditionName(at *field.Path, name string, seen map[string]bool) field.ErrorList {
	before := seen[name]
	seen[name] = true
	if name == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if before {
		return field.ErrorList{field.Duplicate(at, name)}
	}
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(at, name, msg))
	}
	return errs
}

// validateNames checks the names of conditions and variables.
func validateNames(s *admissionv1.ValidatingAdmissionPolicySpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, c := range s.MatchConditions {
		at := p.Child("matchConditions").Index(i).Child("name")
		errs = append(errs, conditionName(at, c.Name, seen)...)
	}
	for i, v := range s.Variables {
		at := p.Child("variables").Index(i).Child("name")
		if v.Name == "" {
			errs = append(errs, field.Required(at, "name is not specified"))
		} else if !celIdentifier.MatchString(v.Name) {
			errs = append(errs, field.Invalid(at, v.Name, "must be a valid CEL identifier"))
		}
	}
	return errs
}

func validateParamKind(k *admissionv1.ParamKind, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if k.APIVersion == "" {
		errs = append(errs, field.Required(p.Child("apiVersion"), ""))
	} else if _, err := schema.ParseGroupVersion(k.APIVersion); err != nil {
		errs = append(errs, field.Invalid(p.Child("apiVersion"), k.APIVersion, err.Error()))
	}
	if k.Kind == "" {
		errs = append(errs, field.Required(p.Child("kind"), ""))
	}
	return errs
}

func validateMatch(m *admissionv1.MatchResources, p *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := oneOf(p.Child("matchPolicy"), *m.MatchPolicy, admissionv1.Equivalent, admissionv1.Exact)
	errs = append(errs, unversioned.ValidateLabelSelector(m.NamespaceSelector, unversioned.LabelSelectorValidationOptions{}, p.Child("namespaceSelector"))...)
	errs = append(errs, unversioned.ValidateLabelSelector(m.ObjectSelector, unversioned.LabelSelectorValidationOptions{}, p.Child("objectSelector"))...)
	for i := range m.ResourceRules {
		errs = append(errs, validateRule(&m.ResourceRules[i], p.Child("resourceRules").Index(i))...)
	}
	for i := range m.ExcludeResourceRules {
		errs = append(errs, validateRule(&m.ExcludeResourceRules[i], p.Child("excludeResourceRules").Index(i))...)
	}
	return errs
}

func validateRule(r *admissionv1.NamedRuleWithOperations, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range r.ResourceNames {
		for _, msg := range path.IsValidPathSegmentName(name) {
			errs = append(errs, field.Invalid(p.Child("resourceNames").Index(i), name, msg))
		}
	}
	for _, list := range []struct {
		name  string
		empty bool
	}{
		{"apiGroups", len(r.APIGroups) == 0}, {"apiVersions", len(r.APIVersions) == 0}, {"resources", len(r.Resources) == 0},
		{"operations", len(r.Operations) == 0},
	} {
		if list.empty {
			errs = append(errs, field.Required(p.Child(list.name), ""))
		}
	}
	for i, op := range r.Operations {
		errs = append(errs, oneOf(p.Child("operations").Index(i), op,
			admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Delete, admissionv1.Update)...)
	}
	return errs
}

func validatePolicyBinding(s *admissionv1.ValidatingAdmissionPolicyBindingSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := validateParamRef(s.ParamRef, p.Child("paramRef"))
	errs = append(errs, validateMatch(s.MatchResources, p.Child("matchResources"))...)
	at := p.Child("validationActions")
	seen := map[admissionv1.ValidationAction]bool{}
	for i, a := range s.ValidationActions {
		errs = append(errs, oneOf(at.Index(i), a, admissionv1.Audit, admissionv1.Deny, admissionv1.Warn)...)
		if seen[a] {
			errs = append(errs, field.Duplicate(at.Index(i), a))
		}
		seen[a] = true
	}
	if seen[admissionv1.Deny] && seen[admissionv1.Warn] {
		errs = append(errs, field.Invalid(at, s.ValidationActions,
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	if s.PolicyName == "" {
		errs = append(errs, field.Required(p.Child("policyName"), ""))
	} else {
		for _, msg := range apivalidation.NameIsDNSSubdomain(s.PolicyName, false) {
			errs = append(errs, field.Invalid(p.Child("policyName"), s.PolicyName, msg))
		}
	}
	if len(seen) == 0 {
		errs = append(errs, field.Required(at, ""))
	}
	return errs
}

func validateParamRef(r *admissionv1.ParamRef, p *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	switch {
	case r.Name != "" && r.Selector != nil:
		errs = append(errs, field.Forbidden(p.Child("name"), "name and selector are mutually exclusive"),
			field.Forbidden(p.Child("selector"), "name and selector are mutually exclusive"))
	case r.Name == "" && r.Selector == nil:
		errs = append(errs, field.Required(p, "one of name or selector must be specified"))
	}
	if r.ParameterNotFoundAction == nil {
		return append(errs, field.Required(p.Child("parameterNotFoundAction"), ""))
	}
	return append(errs, oneOf(p.Child("parameterNotFoundAction"), *r.ParameterNotFoundAction, admissionv1.DenyAction, admissionv1.AllowAction)...)
}
