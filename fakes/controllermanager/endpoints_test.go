package controllermanager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

var (
	services       = corev1.SchemeGroupVersion.WithResource("services")
	endpointSlices = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
)

// newNet is a lab with a Service s, which selects app=r, and a node.
func newNet(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, controllermanager.EndpointSlices, controllermanager.Endpoints)
	l.create(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	l.create(services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "r"}, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	return l
}

// backend makes a ready pod on the node.
func (l *lab) backend(name, ip string) {
	l.t.Helper()
	l.podNamed(name, func(p *corev1.Pod) {
		p.Spec.NodeName = "n"
		p.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(l.clock.now)}},
		}
	})
}

// slices shows how many endpoints each slice has, in no order.
func (l *lab) slices() (sizes []int) {
	l.t.Helper()
	for _, o := range l.must(&apiserver.Request{Verb: apiserver.List, Resource: endpointSlices, Namespace: "default"}).Items {
		sizes = append(sizes, len(o.(*discoveryv1.EndpointSlice).Endpoints))
	}
	slices.Sort(sizes)
	return sizes
}

func TestASliceHasAHundredEndpoints(t *testing.T) {
	l := newNet(t)
	for i := range 150 {
		l.backend(fmt.Sprintf("p-%03d", i), fmt.Sprintf("10.1.0.%d", i+1))
	}
	l.settle()
	if diff := cmp.Diff([]int{50, 100}, l.slices()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	for i := range 60 {
		zero := int64(0)
		l.must(&apiserver.Request{
			Verb: apiserver.Delete, Resource: pods, Namespace: "default", Name: fmt.Sprintf("p-%03d", i),
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &zero},
		})
	}
	l.backend("q", "10.1.1.1")
	l.settle()
	if got := l.slices(); len(got) != 2 || got[0]+got[1] != 91 { // slices are not packed anew
		t.Errorf("slices after pods have gone: %v", got)
	}
}

func TestASliceThatSomebodyChangesIsMendedAfterASecond(t *testing.T) {
	l := newNet(t)
	l.backend("p", "10.1.0.1")
	l.settle()
	list := func() *discoveryv1.EndpointSlice {
		return l.must(&apiserver.Request{Verb: apiserver.List, Resource: endpointSlices, Namespace: "default"}).Items[0].(*discoveryv1.EndpointSlice)
	}
	l.must(&apiserver.Request{
		Verb: apiserver.Patch, Resource: endpointSlices, Namespace: "default", Name: list().Name,
		PatchType: types.MergePatchType, Body: []byte(`{"endpoints":[{"addresses":["9.9.9.9"]}]}`),
	})
	l.settle()
	if got := list().Endpoints[0].Addresses[0]; got != "9.9.9.9" {
		t.Errorf("mended at once: %s", got)
	}
	l.pass(time.Second)
	if got := list().Endpoints[0].Addresses[0]; got != "10.1.0.1" {
		t.Errorf("not mended: %s", got)
	}
}

func TestAPodOnANodeThatNobodyKnowsIsNoEndpoint(t *testing.T) {
	l := newNet(t)
	l.must(&apiserver.Request{Verb: apiserver.Delete, Resource: nodes, Name: "n"})
	l.backend("p", "10.1.0.1")
	if err := l.runner.Settle(); err == nil || !strings.Contains(err.Error(), "Node n Not Found") {
		t.Errorf("settled with %v", err)
	}
	if diff := cmp.Diff([]int{0}, l.slices()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	told := l.told("Service")
	if len(told) != 1 || !strings.Contains(told[0], "FailedToUpdateEndpointSlices x1: Error updating Endpoint Slices for Service default/s: skipping Pod p") {
		t.Errorf("events: %q", told)
	}
}
