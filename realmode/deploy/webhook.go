package deploy

import (
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	realcloak "github.com/seedbed-sim/seedbed/realmode/cloak"
)

// injectCA is cert-manager's.
const injectCA = "cert-manager.io/inject-ca-from"

const httpsPort = 443

// admission returns the webhook's Service and what has API servers ask it.
func admission() []client.Object {
	served := func(path string) registrationv1.WebhookClientConfig {
		return registrationv1.WebhookClientConfig{Service: &registrationv1.ServiceReference{
			Namespace: Webhook.Namespace, Name: Webhook.Name, Path: ptr.To(path), Port: ptr.To[int32](httpsPort),
		}}
	}
	mutating, validating := realcloak.Configurations(Webhook.Name, Webhook.Namespace, served)
	certificate := map[string]string{injectCA: Webhook.Namespace + "/" + Webhook.Name}
	mutating.Annotations, validating.Annotations = certificate, certificate
	return []client.Object{
		&corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: Webhook.Namespace, Name: Webhook.Name},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app.kubernetes.io/name": Webhook.Name},
				Ports:    []corev1.ServicePort{{Name: "webhook", Port: httpsPort, TargetPort: intstr.FromString("webhook")}},
			},
		},
		mutating, validating,
	}
}
