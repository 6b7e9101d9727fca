package cloak

import (
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/cloak/webhook"
)

// Served says where API servers reach the webhook, with the path of one of them.
type Served func(path string) registrationv1.WebhookClientConfig

// Configurations returns the webhook configurations of a cluster with a name, for a cloak
// whose agents are in a namespace.
func Configurations(name, agents string, served Served) (*registrationv1.MutatingWebhookConfiguration, *registrationv1.ValidatingWebhookConfiguration) {
	mutating, validating := webhook.Configurations(agents)
	for i := range mutating {
		mutating[i].ClientConfig = served(PodsPath)
	}
	for i := range validating {
		validating[i].ClientConfig = served(SecretsPath)
	}
	return &registrationv1.MutatingWebhookConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: mutating,
		}, &registrationv1.ValidatingWebhookConfiguration{
			TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: validating,
		}
}
