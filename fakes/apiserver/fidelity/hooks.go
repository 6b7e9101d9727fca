package fidelity

import (
	"fmt"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/webhook"
)

// hooksOf makes hooks of a Validating- or MutatingWebhookConfiguration in JSON.
// They call the suite's webhook server in process.
func hooksOf(config []byte) ([]admission.Hook, error) {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(config, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("webhook configuration: %w", err)
	}
	ask := webhook.Handler(conformance.Webhooks())
	switch config := obj.(type) {
	case *registrationv1.ValidatingWebhookConfiguration:
		return webhook.Validating(config, ask)
	case *registrationv1.MutatingWebhookConfiguration:
		return webhook.Mutating(config, ask)
	}
	return nil, fmt.Errorf("webhook configuration: %T is none", obj)
}
