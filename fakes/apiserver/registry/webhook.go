package registry

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Webhook configurations are stored; the webhooks in them are not called. See
// the admission package for hooks that are.

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
		var errs field.ErrorList
		for i, h := range obj.(*admissionv1.MutatingWebhookConfiguration).Webhooks {
			errs = append(errs, validateHook(h.Name, &h.ClientConfig, h.SideEffects, field.NewPath("webhooks").Index(i))...)
		}
		return errs
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
		var errs field.ErrorList
		for i, h := range obj.(*admissionv1.ValidatingWebhookConfiguration).Webhooks {
			errs = append(errs, validateHook(h.Name, &h.ClientConfig, h.SideEffects, field.NewPath("webhooks").Index(i))...)
		}
		return errs
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

func validateHook(name string, config *admissionv1.WebhookClientConfig, effects *admissionv1.SideEffectClass, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case name == "":
		errs = append(errs, field.Required(p.Child("name"), ""))
	case strings.Count(name, ".") < 2 || !plainSubdomain(name):
		errs = append(errs, field.Invalid(p.Child("name"), name, "should be a domain with at least three segments separated by dots"))
	}
	if config.URL != nil {
		scheme, _, _ := strings.Cut(*config.URL, ":")
		if scheme != "https" {
			errs = append(errs, field.Invalid(p.Child("clientConfig", "url"), scheme, "'https' is the only allowed URL scheme; desired format: https://host[/path]"))
		}
	} else if config.Service == nil {
		errs = append(errs, field.Required(p.Child("clientConfig"), "exactly one of url or service is required"))
	}
	p = p.Child("sideEffects")
	if effects == nil {
		return append(errs, field.Required(p, `must specify one of "None", "NoneOnDryRun"`))
	}
	return append(errs, oneOf(p, *effects, admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun)...)
}
