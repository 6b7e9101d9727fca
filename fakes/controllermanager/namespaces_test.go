package controllermanager_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

func (l *lab) makeNamespace(name string) {
	l.t.Helper()
	l.create(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	l.settle()
}

func (l *lab) deleteNamespace(name string) {
	l.t.Helper()
	l.must(&apiserver.Request{Verb: apiserver.Delete, Resource: namespaces, Name: name})
	l.settle()
}

func (l *lab) expectConditions(name string, want ...string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.conditions(name)); diff != "" {
		l.t.Errorf("conditions of %s (-want +got):\n%s", name, diff)
	}
}

func TestRule11ANamespaceIsFurnished(t *testing.T) {
	l := newLab(t, controllermanager.RootCAPublisher)
	l.makeNamespace("x")
	l.see("kube-root-ca.crt", "kube-node-lease/kube-root-ca.crt", "kube-public/kube-root-ca.crt", "kube-system/kube-root-ca.crt", "x/kube-root-ca.crt")
	l.delete("x/kube-root-ca.crt", background)
	l.patch("kube-root-ca.crt", `{"data":{"ca.crt":"spoilt"}}`)
	l.settle()
	l.see("kube-root-ca.crt", "kube-node-lease/kube-root-ca.crt", "kube-public/kube-root-ca.crt", "kube-system/kube-root-ca.crt", "x/kube-root-ca.crt")
	cm := l.must(&apiserver.Request{Verb: apiserver.Get, Resource: configMaps, Namespace: "default", Name: "kube-root-ca.crt"}).Object.(*corev1.ConfigMap)
	if cm.Data["ca.crt"] != controllermanager.RootCA {
		t.Errorf("what was spoilt has not been mended: %q", cm.Data["ca.crt"])
	}
}

func TestRule11ANamespaceIsLeftAloneForFiveSecondsAndThenGoes(t *testing.T) {
	l := newLab(t, controllermanager.Namespaces)
	l.makeNamespace("x")
	l.configMap("x/a")
	l.deleteNamespace("x")
	l.pass(4 * time.Second)
	l.see("x/a")
	l.pass(time.Second)
	l.see()
	if l.namespace("x") != nil {
		t.Error("the namespace is still there")
	}
}

func TestRule11WhatHoldsANamespaceShowsInItsConditions(t *testing.T) {
	l := newLab(t, controllermanager.Namespaces)
	l.makeNamespace("x")
	l.configMap("x/held")
	l.configMap("x/free")
	l.patch("x/held", `{"metadata":{"finalizers":["a.io/f"]}}`)
	l.deleteNamespace("x")
	l.pass(5 * time.Second)
	l.see("x/held+a.io/f-")
	l.expectConditions("x",
		"NamespaceContentRemaining SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
		"NamespaceFinalizersRemaining SomeFinalizersRemain: Some content in the namespace has finalizers remaining: a.io/f in 1 resource instances")
	l.patch("x/held", `{"metadata":{"finalizers":null}}`)
	l.pass(8 * time.Second)
	if l.namespace("x") != nil {
		t.Error("the namespace is still there, although nothing holds it")
	}
}

func TestRule11PodsGoFirst(t *testing.T) {
	l := newLab(t, controllermanager.Namespaces)
	l.makeNamespace("x")
	l.configMap("x/a")
	l.create(pods, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p"},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	})
	l.deleteNamespace("x")
	l.pass(5 * time.Second)
	l.see("x/a") // a real one does not say either what it waits for
	l.expectConditions("x")
	zero := int64(0)
	l.must(&apiserver.Request{Verb: apiserver.Delete, Resource: pods, Namespace: "x", Name: "p", DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &zero}})
	l.pass(16 * time.Second)
	l.see()
}

func TestRule13QuotasCountWhatIsThere(t *testing.T) {
	l := newLab(t, controllermanager.ResourceQuotas)
	quotas := corev1.SchemeGroupVersion.WithResource("resourcequotas")
	l.configMap("a")
	l.create(quotas, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"count/configmaps": resource.MustParse("2"), "pods": resource.MustParse("5"), "no.such/thing": resource.MustParse("1"),
		}},
	})
	used := func() map[string]string {
		l.settle()
		got := map[string]string{}
		for name, n := range l.must(&apiserver.Request{Verb: apiserver.Get, Resource: quotas, Namespace: "default", Name: "q"}).Object.(*corev1.ResourceQuota).Status.Used {
			got[string(name)] = n.String()
		}
		return got
	}
	if diff := cmp.Diff(map[string]string{"count/configmaps": "1", "pods": "0"}, used()); diff != "" {
		t.Errorf("used at first (-want +got):\n%s", diff)
	}
	l.configMap("b")
	if _, err := l.do(&apiserver.Request{Verb: apiserver.Create, Resource: configMaps, Namespace: "default", Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}); err == nil {
		t.Error("a third config map fits into two")
	}
	l.delete("a", background)
	if diff := cmp.Diff(map[string]string{"count/configmaps": "1", "pods": "0"}, used()); diff != "" {
		t.Errorf("used at last (-want +got):\n%s", diff)
	}
}

func TestControllersAreSelectedAsByTheFlag(t *testing.T) {
	all := controllermanager.Controllers()
	for _, tt := range []struct{ names, want []string }{
		{nil, all},
		{[]string{"*"}, all},
		{[]string{all[1]}, all[1:2]},
		{[]string{"*", "-" + all[0]}, all[1:]},
	} {
		got, err := controllermanager.Select(tt.names)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", tt.names, err, diff)
		}
	}
	if _, err := controllermanager.Select([]string{"-nosuch"}); err == nil {
		t.Error("a controller that does not exist was left out without a word")
	}
}
