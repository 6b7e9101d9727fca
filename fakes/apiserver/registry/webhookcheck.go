package registry

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/policy"
)

// anyWebhook is what both kinds of webhooks have in common.
type anyWebhook struct {
	name                string
	config              *admissionv1.WebhookClientConfig
	rules               []admissionv1.RuleWithOperations
	failure             *admissionv1.FailurePolicyType
	match               *admissionv1.MatchPolicyType
	effects             *admissionv1.SideEffectClass
	timeout             *int32
	versions            []string
	namespaces, objects *metav1.LabelSelector
	conditions          []admissionv1.MatchCondition
	again               *admissionv1.ReinvocationPolicyType // of mutating ones
}

// conditionsMax is how many match conditions a webhook may have.
const conditionsMax = 64

func (w *anyWebhook) validate(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if w.name == "" {
		errs = append(errs, field.Required(p.Child("name"), ""))
	} else {
		errs = append(errs, validation.IsFullyQualifiedName(p.Child("name"), w.name)...)
	}
	for i := range w.rules {
		errs = append(errs, validateWebhookRule(&w.rules[i], p.Child("rules").Index(i))...)
	}
	errs = append(errs, oneOf(p.Child("failurePolicy"), *w.failure, admissionv1.Fail, admissionv1.Ignore)...)
	errs = append(errs, oneOf(p.Child("matchPolicy"), *w.match, admissionv1.Equivalent, admissionv1.Exact)...)
	if w.effects == nil {
		errs = append(errs, field.Required(p.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	} else {
		errs = append(errs, oneOf(p.Child("sideEffects"), *w.effects, admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun)...)
	}
	if t := *w.timeout; t < 1 || t > 30 {
		errs = append(errs, field.Invalid(p.Child("timeoutSeconds"), t, "the timeout value must be between 1 and 30 seconds"))
	}
	if w.again != nil {
		errs = append(errs, oneOf(p.Child("reinvocationPolicy"), *w.again, admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)...)
	}
	errs = append(errs, validateReviewVersions(w.versions, p.Child("admissionReviewVersions"))...)
	errs = append(errs, unversioned.ValidateLabelSelector(w.namespaces, unversioned.LabelSelectorValidationOptions{}, p.Child("namespaceSelector"))...)
	errs = append(errs, unversioned.ValidateLabelSelector(w.objects, unversioned.LabelSelectorValidationOptions{}, p.Child("objectSelector"))...)
	errs = append(errs, validateClientConfig(w.config, p.Child("clientConfig"))...)
	return append(errs, validateMatchConditions(w.conditions, p.Child("matchConditions"))...)
}

func validateClientConfig(c *admissionv1.WebhookClientConfig, p *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(p, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateWebhookURL(p.Child("url"), *c.URL, true)
	default:
		return webhook.ValidateWebhookService(p.Child("service"), c.Service.Name, c.Service.Namespace, c.Service.Path, *c.Service.Port)
	}
}

func validateReviewVersions(versions []string, p *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(p, "must specify one of v1, v1beta1")}
	}
	var errs field.ErrorList
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			errs = append(errs, field.Invalid(p.Index(i), v, "duplicate version"))
			continue
		}
		for _, msg := range validation.IsDNS1035Label(v) {
			errs = append(errs, field.Invalid(p.Index(i), v, msg))
		}
	}
	if !slices.Contains(versions, "v1") && !slices.Contains(versions, "v1beta1") {
		errs = append(errs, field.Invalid(p, versions, "must include at least one of v1, v1beta1"))
	}
	return errs
}

func validateMatchConditions(list []admissionv1.MatchCondition, p *field.Path) field.ErrorList {
	if len(list) > conditionsMax {
		return field.ErrorList{field.TooMany(p, len(list), conditionsMax)}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, c := range list {
		if strings.TrimSpace(c.Expression) == "" {
			errs = append(errs, field.Required(p.Index(i).Child("expression"), ""))
		} else {
			errs = append(errs, policy.CheckCondition(c, p.Index(i).Child("expression"))...)
		}
		errs = append(errs, conditionName(p.Index(i).Child("name"), c.Name, seen)...)
	}
	return errs
}

func validateWebhookRule(r *admissionv1.RuleWithOperations, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := p.Child("operations")
	if len(r.Operations) == 0 {
		errs = append(errs, field.Required(at, ""))
	} else if len(r.Operations) > 1 && slices.Contains(r.Operations, admissionv1.OperationAll) {
		errs = append(errs, field.Invalid(at, r.Operations, "if '*' is present, must not specify other operations"))
	}
	for i, op := range r.Operations {
		errs = append(errs, oneOf(at.Index(i), op, admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Delete, admissionv1.Update)...)
	}
	for _, list := range []struct {
		field, what string
		values      []string
		empty       bool // an entry may be
	}{{"apiGroups", "API groups", r.APIGroups, true}, {"apiVersions", "API versions", r.APIVersions, false}} {
		at := p.Child(list.field)
		if len(list.values) == 0 {
			errs = append(errs, field.Required(at, ""))
		} else if len(list.values) > 1 && slices.Contains(list.values, "*") {
			errs = append(errs, field.Invalid(at, list.values, fmt.Sprintf("if '*' is present, must not specify other %s", list.what)))
		}
		for i, v := range list.values {
			if v == "" && !list.empty {
				errs = append(errs, field.Required(at.Index(i), ""))
			}
		}
	}
	errs = append(errs, validateWebhookResources(r.Resources, p.Child("resources"))...)
	if r.Scope != nil {
		errs = append(errs, oneOf(p.Child("scope"), *r.Scope, admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope)...)
	}
	return errs
}

// validateWebhookResources refuses what another entry covers already.
func validateWebhookResources(list []string, p *field.Path) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	whole, each := map[string]bool{}, map[string]bool{} // "pods/*" by pods, "*/log" by log
	for i, entry := range list {
		if entry == "" {
			errs = append(errs, field.Required(p.Index(i), ""))
			continue
		}
		resource, sub, divided := strings.Cut(entry, "/")
		if !divided {
			continue
		}
		refuse := func(by string) {
			errs = append(errs, field.Invalid(p.Index(i), entry, fmt.Sprintf("if '%s' is present, must not specify %s", by, entry)))
		}
		if whole[resource] {
			refuse(resource + "/*")
		}
		if each[sub] {
			refuse("*/" + sub)
		}
		if sub == "*" {
			whole[resource] = true
		}
		if resource == "*" {
			each[sub] = true
		}
	}
	if len(list) > 1 && slices.Contains(list, "*/*") {
		errs = append(errs, field.Invalid(p, list, "if '*/*' is present, must not specify other resources"))
	}
	bare := slices.ContainsFunc(list, func(e string) bool { return e != "*" && e != "" && !strings.Contains(e, "/") })
	if slices.Contains(list, "*") && bare {
		errs = append(errs, field.Invalid(p, list, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}
