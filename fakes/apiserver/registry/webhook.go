package registry

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Webhook configurations are stored; the webhooks in them are not called. See
// the admission package for hooks that are, and the webhook package for making these of
// configurations.

var mutatingWebhooks = &Kind{
	GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"),
	Names:            Names{Plural: "mutatingwebhookconfigurations", Categories: []string{"api-extensions"}},
	Cluster:          true,
	Prototype:        &admissionv1.MutatingWebhookConfiguration{},
	Generation:       Content,
	Write:            WriteRules{PutNeedsVersion: true},
	Default: func(obj Object) {
		hooks := obj.(*admissionv1.MutatingWebhookConfiguration).Webhooks
		for i := range hooks {
			h := &hooks[i]
			defaultHook(&h.FailurePolicy, &h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector, &h.TimeoutSeconds, h.Rules, &h.ClientConfig)
			fill(&h.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		}
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		hooks := obj.(*admissionv1.MutatingWebhookConfiguration).Webhooks
		all := make([]anyWebhook, len(hooks))
		for i := range hooks {
			h := &hooks[i]
			all[i] = anyWebhook{
				name: h.Name, config: &h.ClientConfig, rules: h.Rules, failure: h.FailurePolicy, match: h.MatchPolicy, effects: h.SideEffects,
				timeout: h.TimeoutSeconds, versions: h.AdmissionReviewVersions, namespaces: h.NamespaceSelector, objects: h.ObjectSelector,
				conditions: h.MatchConditions, again: h.ReinvocationPolicy,
			}
		}
		return validateHooks(all)
	},
}

var validatingWebhooks = &Kind{
	GroupVersionKind: admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"),
	Names:            Names{Plural: "validatingwebhookconfigurations", Categories: []string{"api-extensions"}},
	Cluster:          true,
	Prototype:        &admissionv1.ValidatingWebhookConfiguration{},
	Generation:       Content,
	Write:            WriteRules{PutNeedsVersion: true},
	Default: func(obj Object) {
		hooks := obj.(*admissionv1.ValidatingWebhookConfiguration).Webhooks
		for i := range hooks {
			h := &hooks[i]
			defaultHook(&h.FailurePolicy, &h.MatchPolicy, &h.NamespaceSelector, &h.ObjectSelector, &h.TimeoutSeconds, h.Rules, &h.ClientConfig)
		}
	},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		hooks := obj.(*admissionv1.ValidatingWebhookConfiguration).Webhooks
		all := make([]anyWebhook, len(hooks))
		for i := range hooks {
			h := &hooks[i]
			all[i] = anyWebhook{
				name: h.Name, config: &h.ClientConfig, rules: h.Rules, failure: h.FailurePolicy, match: h.MatchPolicy, effects: h.SideEffects,
				timeout: h.TimeoutSeconds, versions: h.AdmissionReviewVersions, namespaces: h.NamespaceSelector, objects: h.ObjectSelector,
				conditions: h.MatchConditions,
			}
		}
		return validateHooks(all)
	},
}

func defaultHook(failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector,
	timeout **int32, rules []admissionv1.RuleWithOperations, config *admissionv1.WebhookClientConfig) {
	fill(failure, admissionv1.Fail)
	fill(match, admissionv1.Equivalent)
	fill(namespaces, metav1.LabelSelector{})
	fill(objects, metav1.LabelSelector{})
	fill(timeout, 10)
	for i := range rules {
		fill(&rules[i].Scope, admissionv1.AllScopes)
	}
	if config.Service != nil {
		fill(&config.Service.Port, 443)
	}
}

func validateHooks(all []anyWebhook) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range all {
		p := field.NewPath("webhooks").Index(i)
		errs = append(errs, all[i].validate(p)...)
		if name := all[i].name; name != "" {
			if seen[name] {
				errs = append(errs, field.Duplicate(p.Child("name"), name))
			}
			seen[name] = true
		}
	}
	return errs
}
