package serve

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim"
)

// furnish creates what every cluster has, and the Pods that were asked for.
func (w *World) furnish(s *sim.World) {
	s.Create(apiService(), apiSlice())
	s.Create(systemClasses()...)
	if w.Pods > 0 {
		w.fill(s)
	}
}

// apiAddress is where Pods would find the API: the first address for Services.
const apiAddress = "10.0.0.1"

func apiService() client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "kubernetes", Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: apiAddress, Type: corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(6443)}},
		},
	}
}

func apiSlice() client.Object {
	name, port, protocol := "https", int32(6443), corev1.ProtocolTCP
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"172.18.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
}

// systemClasses are the priority classes that every API server makes.
func systemClasses() []client.Object {
	class := func(name string, value int32, about string) client.Object {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, Description: about}
	}
	return []client.Object{
		class("system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their current node."),
		class("system-cluster-critical", 2000000000,
			"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
	}
}

// noLogs is what the kubelets say when they are asked for the log of a pod.
func noLogs(pod *corev1.Pod, _ *corev1.PodLogOptions) ([]byte, error) {
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented", Details: &metav1.StatusDetails{},
		Message: fmt.Sprintf("pod %s runs in name only: a simulated cluster has no containers, and so no logs", pod.Name),
	}}
}
