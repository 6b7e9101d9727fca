package client_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fake "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// received takes what is in the channel, as "TYPE name".
func received(w watch.Interface) []string {
	var out []string
	for {
		select {
		case ev, ok := <-w.ResultChan():
			if !ok {
				return append(out, "end")
			}
			out = append(out, fmt.Sprintf("%s %s", ev.Type, ev.Object.(metav1.Object).GetName()))
		default:
			return out
		}
	}
}

// TestWatch needs no goroutine: events are in the channel when the write that
// caused them returns.
func TestWatch(t *testing.T) {
	c := newClient(t)
	must(t, c.Create(ctx, configMap("a", nil)))
	w, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace("default"))
	must(t, err)
	must(t, c.Create(ctx, configMap("b", nil)))
	must(t, c.Delete(ctx, configMap("a", nil)))
	want := []string{"ADDED a", "ADDED b", "DELETED a"}
	if diff := cmp.Diff(want, received(w)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.Stop()
	w.Stop() // stopping twice is fine
	must(t, c.Create(ctx, configMap("c", nil)))
	if diff := cmp.Diff([]string{"end"}, received(w)); diff != "" {
		t.Errorf("events after Stop (-want +got):\n%s", diff)
	}
}

func TestWatchedObjectsAreOfTheListsType(t *testing.T) {
	c := newClient(t)
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMapList")
	loose, partial := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
	loose.SetGroupVersionKind(gvk)
	partial.SetGroupVersionKind(gvk)
	for name, list := range map[string]client.ObjectList{
		"*v1.ConfigMap": &corev1.ConfigMapList{}, "*unstructured.Unstructured": loose, "*v1.PartialObjectMetadata": partial,
	} {
		w, err := c.Watch(ctx, list, client.InNamespace("default"))
		must(t, err)
		cm := configMap("a", map[string]string{"k": "v"})
		must(t, c.Create(ctx, cm))
		ev := <-w.ResultChan()
		if got := fmt.Sprintf("%T", ev.Object); got != name {
			t.Errorf("got a %s, want a %s", got, name)
		}
		ev.Object.(metav1.Object).SetName("changed") // the receiver's own
		must(t, c.Delete(ctx, cm))
		w.Stop()
	}
}

func TestSlowWatchersAreCutOff(t *testing.T) {
	c := newClient(t)
	w, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace("default"))
	must(t, err)
	for i := range 1200 {
		must(t, c.Create(ctx, configMap(fmt.Sprint("a", i), nil), fake.GiveAway))
	}
	got := received(w)
	if n := len(got); n != 1001 || got[n-1] != "end" {
		t.Errorf("got %d entries, the last %q; want 1000 events and the end", n, got[n-1])
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		ctx, cancel := context.WithCancel(context.Background())
		w, err := c.Watch(ctx, &corev1.ConfigMapList{})
		must(t, err)
		cancel()
		synctest.Wait()
		if diff := cmp.Diff([]string{"end"}, received(w)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
