package webhook

import (
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seedbed-sim/seedbed/core/cloak"
)

// Configurations returns the webhooks of a cluster whose agents are in a namespace,
// which is left out: agents must start without the webhook. Where they are served, and
// with which certificates, the caller fills in.
//
// The label of a Pod decides over that of its namespace, so each Pod fits one of the two
// mutating webhooks at most.
func Configurations(agents string) ([]registrationv1.MutatingWebhook, []registrationv1.ValidatingWebhook) {
	elsewhere := metav1.LabelSelectorRequirement{Key: namespaceName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{agents}}
	enabled := map[string]string{cloak.AnnotationEnabled: "true"}
	pods := []registrationv1.RuleWithOperations{
		rule(registrationv1.Create, "pods"),
		rule(registrationv1.Update, "pods/ephemeralcontainers"),
	}
	mutating := func(name string, namespaces, objects *metav1.LabelSelector) registrationv1.MutatingWebhook {
		return registrationv1.MutatingWebhook{
			Name: name, Rules: pods, NamespaceSelector: namespaces, ObjectSelector: objects,
			FailurePolicy: ptr.To(registrationv1.Fail), SideEffects: ptr.To(registrationv1.SideEffectClassNone),
			ReinvocationPolicy: ptr.To(registrationv1.IfNeededReinvocationPolicy), AdmissionReviewVersions: []string{"v1"},
		}
	}
	return []registrationv1.MutatingWebhook{
			mutating("namespaces.getkloak.io",
				&metav1.LabelSelector{MatchLabels: enabled, MatchExpressions: []metav1.LabelSelectorRequirement{elsewhere}},
				&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: cloak.AnnotationEnabled, Operator: metav1.LabelSelectorOpDoesNotExist}}}),
			mutating("pods.getkloak.io",
				&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{elsewhere}},
				&metav1.LabelSelector{MatchLabels: enabled}),
		}, []registrationv1.ValidatingWebhook{{
			Name:           "secrets.getkloak.io",
			Rules:          []registrationv1.RuleWithOperations{rule(registrationv1.Create, "secrets"), rule(registrationv1.Update, "secrets")},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{cloak.AnnotationSecretEnabled: "true"}},
			FailurePolicy:  ptr.To(registrationv1.Fail), SideEffects: ptr.To(registrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}}
}

// namespaceName is the label that every Namespace has, with its name.
const namespaceName = "kubernetes.io/metadata.name"

func rule(op registrationv1.OperationType, resource string) registrationv1.RuleWithOperations {
	return registrationv1.RuleWithOperations{
		Operations: []registrationv1.OperationType{op},
		Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
	}
}
