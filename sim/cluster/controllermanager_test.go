package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// owned is an object that is owned by another.
func owned(name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
	o := object(name, "")
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	return o
}

// tree creates an owner and its dependent.
func (l *lab) tree() {
	l.t.Helper()
	l.create("owner", "")
	l.must(l.c.Admin().Create(context.Background(), owned("dependent", l.get("owner"))))
}

func (l *lab) sayWhenGone(name string) {
	var look func()
	look = func() {
		if !l.exists(name) {
			l.say("%s is gone", name)
			return
		}
		l.at(10*time.Millisecond, look)
	}
	look()
}

func TestControllersCollectAfterTheirWatches(t *testing.T) {
	l := newLab(t, cluster.Config{Controllers: []string{"garbage-collector-controller"}})
	l.tree()
	l.at(time.Second, func() { l.delete("owner"); l.sayWhenGone("dependent") })
	l.run(time.Minute, "1010: dependent is gone")
}

func TestControllersWorkAgainAfterACrash(t *testing.T) {
	l := newLab(t, cluster.Config{Controllers: []string{"*"}})
	l.tree()
	l.at(5*time.Second, func() {
		l.c.Process(cluster.ControllerManager).Crash()
		l.delete("owner")
		l.sayWhenGone("dependent")
	})
	// It starts a second later and lists everything first.
	l.run(time.Minute, "6010: dependent is gone")
}

func TestNamespacesGoFiveSecondsAfterTheirDeletion(t *testing.T) {
	l := newLab(t, cluster.Config{Controllers: []string{"*"}})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	l.must(l.c.Admin().Create(context.Background(), ns))
	l.at(5*time.Second, func() {
		l.must(l.c.Admin().Get(context.Background(), inNamespace("x", "kube-root-ca.crt"), &corev1.ConfigMap{}))
		l.must(l.c.Admin().Get(context.Background(), inNamespace("x", "default"), &corev1.ServiceAccount{}))
		l.must(l.c.Admin().Delete(context.Background(), ns))
	})
	l.at(10*time.Second, func() {
		l.say("there is a namespace: %s", result(l.c.Admin().Get(context.Background(), inNamespace("", "x"), ns)))
	})
	l.at(11*time.Second, func() {
		l.say("there is a namespace: %s", result(l.c.Admin().Get(context.Background(), inNamespace("", "x"), ns)))
	})
	l.run(time.Minute, "10000: there is a namespace: ok", `11000: there is a namespace: namespaces "x" not found`)
}

func TestWithoutControllersNothingIsCollected(t *testing.T) {
	l := newLab(t, cluster.Config{})
	l.tree()
	l.at(time.Second, func() { l.delete("owner"); l.sayWhenGone("dependent") })
	l.run(time.Minute)
	if p := l.c.Process(cluster.ControllerManager); p != nil {
		t.Errorf("there is a process %s that nobody has asked for", p.Name())
	}
}

func inNamespace(ns, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: ns, Name: name}
}
