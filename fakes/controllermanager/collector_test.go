package controllermanager_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

const (
	background = metav1.DeletePropagationBackground
	foreground = metav1.DeletePropagationForeground
	orphan     = metav1.DeletePropagationOrphan
)

// TestRule12Collection has one sentence about the garbage collector in each case.
func TestRule12Collection(t *testing.T) {
	hold := `{"metadata":{"finalizers":["a.io/f"]}}`
	release := `{"metadata":{"finalizers":null}}`
	tests := []struct {
		name  string
		story func(l *lab)
	}{
		{"dependents go after their owner, and theirs after them", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "a")
			l.configMap("c", "b")
			l.configMap("free")
			l.settle()
			l.delete("a", background)
			l.see("b<a", "c<b", "free")
			l.settle()
			l.see("free")
		}},
		{"a dependent of two owners loses the one that is gone", func(l *lab) {
			l.configMap("a")
			l.configMap("b")
			l.configMap("d", "a", "b")
			l.settle()
			l.delete("a", background)
			l.settle()
			l.see("b", "d<b")
		}},
		{"an owner that waits keeps nothing alive", func(l *lab) {
			l.configMap("a")
			l.configMap("b")
			l.configMap("d", "!a", "!b")
			l.settle()
			l.delete("a", foreground)
			l.see("a+foregroundDeletion-", "b", "d<a,b")
			l.settle()
			l.see("b", "d<b")
		}},
		{"in the foreground the owner goes last", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "!a")
			l.patch("b", hold)
			l.settle()
			l.delete("a", foreground)
			l.settle()
			l.see("a+foregroundDeletion-", "b<a+a.io/f-")
			l.patch("b", release)
			l.settle()
			l.see()
		}},
		{"a dependent that does not block is not waited for", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "a")
			l.patch("b", hold)
			l.settle()
			l.delete("a", foreground)
			l.settle()
			l.see("b<a+a.io/f-")
		}},
		{"dependents with dependents are deleted in the foreground too", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "!a")
			l.configMap("c", "!b")
			l.patch("c", hold)
			l.settle()
			l.delete("a", foreground)
			l.settle()
			l.see("a+foregroundDeletion-", "b<a+foregroundDeletion-", "c<b+a.io/f-")
			l.patch("c", release)
			l.settle()
			l.see()
		}},
		{"a dependent that stops blocking lets its owner go", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "!a")
			l.patch("b", hold)
			l.settle()
			l.delete("a", foreground)
			l.settle()
			l.patch("b", `{"metadata":{"ownerReferences":null}}`)
			l.settle()
			l.see("b+a.io/f-")
		}},
		{"two objects that own each other and wait for each other still go", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "!a")
			l.patch("a", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"b","uid":"`+string(l.uid("b"))+`","blockOwnerDeletion":true}]}}`)
			l.settle()
			l.delete("a", foreground)
			l.settle()
			l.see()
		}},
		{"orphans lose their owner and stay", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "a")
			l.configMap("c", "!a", "b")
			l.settle()
			l.delete("a", orphan)
			l.see("a+orphan-", "b<a", "c<a,b")
			l.settle()
			l.see("b", "c<b")
		}},
		{"owners that never existed, have another uid or live elsewhere are none", func(l *lab) {
			l.create(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
			l.configMap("a")
			l.configMap("other/x")
			l.configMap("never", "nope")
			l.configMap("abroad", "other/x")
			l.uids["a2"] = "another-uid"
			l.configMap("changed", "a2")
			l.settle()
			l.see("a", "other/x")
		}},
		{"a good dependent survives what a bad one claims about their owner", func(l *lab) {
			// The bad one is seen first, so the owner is looked for at the wrong place.
			l.create(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "aaa"}})
			l.configMap("owner")
			l.uids["aaa/owner"] = l.uid("owner")
			l.configMap("aaa/bad", "aaa/owner")
			l.configMap("good", "owner")
			l.settle()
			l.see("good<owner", "owner")
		}},
		{"a recreated owner does not inherit the dependents", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "a")
			l.settle()
			l.delete("a", background)
			l.configMap("a")
			l.settle()
			l.see("a")
		}},
		{"a namespaced object may be owned by one without a namespace", func(l *lab) {
			n := l.create(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: "n", UID: n.GetUID()}}}}
			l.create(configMaps, cm)
			l.settle()
			l.see("d<n")
			l.must(&apiserver.Request{Verb: apiserver.Delete, Resource: nodes, Name: "n"})
			l.settle()
			l.see()
		}},
		{"an object without a namespace that claims an owner with one is left alone", func(l *lab) {
			l.create(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"}}}})
			l.settle()
			l.must(&apiserver.Request{Verb: apiserver.Get, Resource: nodes, Name: "n"})
		}},
		{"a new owner reference is followed, one that is taken away is not", func(l *lab) {
			l.configMap("a")
			l.configMap("b")
			l.configMap("d", "a")
			l.configMap("e", "a")
			l.settle()
			l.patch("e", `{"metadata":{"ownerReferences":null}}`)
			l.settle()
			l.delete("a", background)
			l.settle()
			l.see("b", "e")
		}},
		{"a collected object honours the policy that is on it", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "a")
			l.configMap("c", "b")
			l.patch("b", `{"metadata":{"finalizers":["orphan"]}}`)
			l.settle()
			l.delete("a", background)
			l.settle()
			l.see("c")
		}},
		{"what the watches have missed is made up for when they are opened again", func(l *lab) {
			l.configMap("a")
			l.configMap("b", "a")
			l.settle()
			l.server.Restart()
			l.delete("a", background)
			l.server.Store().ForgetHistory()
			l.settle()
			l.see()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.story(newLab(t, controllermanager.GarbageCollector)) })
	}
}

func TestRule12OwnersOfUnknownKindsAreWaitedFor(t *testing.T) {
	l := newLab(t, controllermanager.GarbageCollector)
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	l.create(configMaps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Thing", Name: "x", UID: "gone"}}}})
	if err := l.runner.Settle(); err == nil {
		t.Error("nobody was told that the kind of an owner is not known")
	}
	l.see("d<x")
	if err := l.server.Store().Register(apiserver.KindInfo{GVK: gvk, Plural: "things"}); err != nil {
		t.Fatal(err)
	}
	l.pass(2 * time.Second)
	l.see()
}

func TestRule12CustomResourcesAreCollectedAndOrphaned(t *testing.T) {
	l := newLab(t, controllermanager.GarbageCollector)
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	things := gvk.GroupVersion().WithResource("things")
	if err := l.server.Store().Register(apiserver.KindInfo{GVK: gvk, Plural: "things"}); err != nil {
		t.Fatal(err)
	}
	l.configMap("a")
	l.configMap("b")
	for name, owner := range map[string]string{"kept": "a", "collected": "b"} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		u.SetNamespace("default")
		u.SetName(name)
		u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: l.uid(owner)}})
		l.create(things, u)
	}
	l.settle()
	l.delete("a", orphan)
	l.delete("b", background)
	l.settle()
	left := l.must(&apiserver.Request{Verb: apiserver.List, Resource: things, Namespace: "default"}).Items
	if len(left) != 1 || left[0].GetName() != "kept" || len(left[0].GetOwnerReferences()) > 0 {
		t.Errorf("things left: %v", left)
	}
}
