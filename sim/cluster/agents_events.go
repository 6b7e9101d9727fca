package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// tellStart makes the events of a kubelet that starts a Pod.
func (a *agents) tellStart(p *corev1.Pod) {
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		field := fmt.Sprintf("spec.containers{%s}", c.Name)
		for _, e := range [...]struct{ reason, message string }{
			{"Pulled", fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", c.Image)},
			{"Created", "Container created"},
			{"Started", "Container started"},
		} {
			a.tell(p, "kubelet", p.Spec.NodeName, corev1.EventTypeNormal, e.reason, field, e.message)
		}
	}
}

// tell records an Event about a Pod.
func (a *agents) tell(p *corev1.Pod, component, host, severity, reason, field, message string) {
	a.events++
	now := metav1.NewTime(a.c.eng.Now())
	_, _ = a.do(&apiserver.Request{ // the namespace may be on its way out
		Verb: apiserver.Create, Resource: eventsResource, Namespace: p.Namespace, Owned: true, UserAgent: component,
		Object: &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("%.230s.%016x", p.Name, a.events)},
			InvolvedObject: corev1.ObjectReference{
				Kind: "Pod", APIVersion: "v1", Namespace: p.Namespace, Name: p.Name, UID: p.UID,
				ResourceVersion: p.ResourceVersion, FieldPath: field,
			},
			Reason: reason, Message: message, Type: severity, Count: 1,
			Source: corev1.EventSource{Component: component, Host: host}, ReportingController: component, ReportingInstance: host,
			FirstTimestamp: now, LastTimestamp: now,
		},
	})
}
