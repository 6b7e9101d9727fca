package webhook

import (
	"fmt"
	"net/url"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

// Ask sends an AdmissionReview in JSON to a path of a webhook server, and returns what it
// answers. An error says that the server could not be asked.
type Ask func(path string, review []byte) ([]byte, error)

// webhook is what webhooks of both kinds have in common.
type webhook struct {
	name                string
	client              *registrationv1.WebhookClientConfig
	rules               []registrationv1.RuleWithOperations
	namespaces, objects *metav1.LabelSelector
	failure             *registrationv1.FailurePolicyType
	conditions          []registrationv1.MatchCondition
}

// Mutating returns the hooks of a configuration, in its order. An error names the webhook
// and what is wrong with it.
func Mutating(c *registrationv1.MutatingWebhookConfiguration, ask Ask) ([]admission.Hook, error) {
	var hooks []admission.Hook
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		hook, path, err := (&webhook{w.Name, &w.ClientConfig, w.Rules, w.NamespaceSelector, w.ObjectSelector, w.FailurePolicy, w.MatchConditions}).hook()
		if err != nil {
			return nil, fmt.Errorf("MutatingWebhookConfiguration %s: %w", c.Name, err)
		}
		hook.Reinvoke = w.ReinvocationPolicy != nil && *w.ReinvocationPolicy == registrationv1.IfNeededReinvocationPolicy
		hook.Mutate = func(r *admission.Review) admission.Answer { return ask.review(path, r, true) }
		hooks = append(hooks, hook)
	}
	return hooks, nil
}

// Validating returns the hooks of a configuration, in its order. An error names the
// webhook and what is wrong with it.
func Validating(c *registrationv1.ValidatingWebhookConfiguration, ask Ask) ([]admission.Hook, error) {
	var hooks []admission.Hook
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		hook, path, err := (&webhook{w.Name, &w.ClientConfig, w.Rules, w.NamespaceSelector, w.ObjectSelector, w.FailurePolicy, w.MatchConditions}).hook()
		if err != nil {
			return nil, fmt.Errorf("ValidatingWebhookConfiguration %s: %w", c.Name, err)
		}
		hook.Validate = func(r *admission.Review) admission.Answer { return ask.review(path, r, false) }
		hooks = append(hooks, hook)
	}
	return hooks, nil
}

// hook is the webhook but for who is asked, and the path that is asked.
func (w *webhook) hook() (admission.Hook, string, error) {
	h := admission.Hook{
		Name: w.name, Conditions: w.conditions,
		Ignore: w.failure != nil && *w.failure == registrationv1.Ignore,
	}
	path, err := pathOf(w.client)
	if err != nil {
		return h, "", fmt.Errorf("webhook %s: clientConfig: %w", w.name, err)
	}
	namespaces, err := selector(w.namespaces)
	if err != nil {
		return h, "", fmt.Errorf("webhook %s: namespaceSelector: %w", w.name, err)
	}
	objects, err := selector(w.objects)
	if err != nil {
		return h, "", fmt.Errorf("webhook %s: objectSelector: %w", w.name, err)
	}
	for _, rule := range w.rules {
		m := admission.Match{Groups: rule.APIGroups, Versions: rule.APIVersions, Resources: rule.Resources, Namespaces: namespaces, Objects: objects}
		for _, op := range rule.Operations {
			m.Operations = append(m.Operations, admission.Operation(op))
		}
		h.Also = append(h.Also, m)
	}
	return h, path, nil
}

// selector is that of a webhook, where none selects everything.
func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// pathOf is where the server of a webhook is asked.
func pathOf(c *registrationv1.WebhookClientConfig) (string, error) {
	switch {
	case c.Service != nil && c.Service.Path != nil:
		return *c.Service.Path, nil
	case c.Service != nil:
		return "/", nil
	case c.URL == nil:
		return "", fmt.Errorf("neither service nor url is set; set one of them")
	}
	address, err := url.Parse(*c.URL)
	if err != nil {
		return "", err
	}
	return address.Path, nil
}
