package apiserver_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule04WhatADeleteAnswers(t *testing.T) {
	a := newAPI(t)
	cm := a.create(configMaps, configMap("a"))
	r := a.delete(configMaps, "a")
	equal(t, "a kind that answers with a Status", *r.Status, metav1.Status{
		Status: "Success", Details: &metav1.StatusDetails{Name: "a", Kind: "configmaps", UID: cm.GetUID()},
	})
	a.create(services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	if r = a.delete(services, "s"); r.Object == nil || r.Object.GetName() != "s" {
		t.Errorf("a kind that answers with the object: %+v", r)
	}
	a.refused(a.request(apiserver.Delete, configMaps, "a"), 404, "NotFound", `configmaps "a" not found`)
}

func TestRule04FinalizersHoldAnObject(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a", held, data("k", "v")))
	w := a.watch(configMaps, version("5"))
	gone := a.delete(configMaps, "a").Object
	equal(t, "deletion", gone.GetDeletionTimestamp().Format(time.RFC3339Nano), "2030-01-01T12:00:00Z")
	equal(t, "grace", *gone.GetDeletionGracePeriodSeconds(), 0)
	a.clock.now = a.clock.now.Add(time.Hour)
	equal(t, "a second delete", a.delete(configMaps, "a").Object, gone)

	a.refused(a.request(apiserver.Create, configMaps, "", body(configMap("a"))), 409, "AlreadyExists", `object is being deleted: configmaps "a" already exists`)
	a.refused(a.request(apiserver.Patch, configMaps, "a", merge(`{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}`)), 422, "Invalid",
		`ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}`)
	equal(t, "edits go on", a.patch(configMaps, "a", `{"data":{"k":"w"}}`).GetResourceVersion(), "7")
	equal(t, "no way back", a.patch(configMaps, "a", `{"metadata":{"deletionTimestamp":null}}`).GetDeletionTimestamp(), gone.GetDeletionTimestamp())

	last := a.patch(configMaps, "a", `{"metadata":{"finalizers":null},"data":{"k":"unseen"}}`).(*corev1.ConfigMap)
	equal(t, "the answer is what would have been stored", last.Data["k"]+"@"+last.ResourceVersion, "unseen@7")
	var seen []string
	for e, ok := w.Next(); ok; e, ok = w.Next() {
		cm := e.Object.(*corev1.ConfigMap)
		seen = append(seen, string(e.Type)+" "+cm.Data["k"]+"@"+cm.ResourceVersion)
		if e.Type == "DELETED" && len(cm.Finalizers) != 1 {
			t.Error("the last state shows what nobody stored")
		}
	}
	equal(t, "events", seen, []string{"MODIFIED v@6", "MODIFIED w@7", "DELETED w@8"})
}

func TestRule04AReleaseByPutNeedsTheVersion(t *testing.T) {
	a := newAPI(t)
	old := a.create(configMaps, configMap("a", held))
	a.delete(configMaps, "a")
	a.refused(a.request(apiserver.Update, configMaps, "a", body(configMap("a", func(cm *corev1.ConfigMap) { cm.ResourceVersion = old.GetResourceVersion() }))), 409, "Conflict", modified)
	a.update(configMaps, configMap("a"))
	a.refused(a.request(apiserver.Get, configMaps, "a"), 404, "NotFound", `configmaps "a" not found`)
}

func TestRule04PreconditionsAreChecked(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	uid := a.get(configMaps, "a").GetUID()
	s := a.refused(a.request(apiserver.Delete, configMaps, "a", deleteWith(func(o *metav1.DeleteOptions) { o.Preconditions = metav1.NewUIDPreconditions("other") })),
		409, "Conflict", `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (`+string(uid)+`). The object might have been deleted and then recreated`)
	equal(t, "details name the kind, not the resource", s.Details.Kind, "ConfigMap")
	a.delete(configMaps, "a", deleteWith(func(o *metav1.DeleteOptions) { o.Preconditions = metav1.NewUIDPreconditions(string(uid)) }))
}

func TestRule04PropagationIsAFinalizer(t *testing.T) {
	a := newAPI(t)
	policy := func(p metav1.DeletionPropagation) func(*apiserver.Request) {
		return deleteWith(func(o *metav1.DeleteOptions) { o.PropagationPolicy = &p })
	}
	a.create(configMaps, configMap("a"))
	equal(t, "foreground", a.delete(configMaps, "a", policy("Foreground")).Object.GetFinalizers(), []string{"foregroundDeletion"})
	equal(t, "another policy replaces it", a.delete(configMaps, "a", policy("Orphan")).Object.GetFinalizers(), []string{"orphan"})
	equal(t, "no policy keeps it", a.delete(configMaps, "a").Object.GetFinalizers(), []string{"orphan"})
	if r := a.delete(configMaps, "a", policy("Background")); r.Status == nil {
		t.Errorf("background: %+v", r.Object)
	}
	a.create(configMaps, configMap("b"))
	a.refused(a.request(apiserver.Delete, configMaps, "b", policy("Nope")), 422, "Invalid",
		`DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", "nil"`)

	jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	j.Spec.Template.Spec = pod("", "").Spec
	j.Spec.Template.Spec.RestartPolicy = "Never"
	a.create(jobs, j)
	r := a.delete(jobs, "j")
	equal(t, "a job's pods are orphaned", r.Object.GetFinalizers(), []string{"orphan"})
	equal(t, "warnings", len(r.Warnings), 1)
}

func TestRule04PodsGoWhenTheirNodeSaysSo(t *testing.T) {
	a := newAPI(t)
	a.create(pods, pod("p", "n1"))
	w := a.watch(pods, version("5"))
	p := a.delete(pods, "p").Object
	equal(t, "the default grace", *p.GetDeletionGracePeriodSeconds(), 30)
	equal(t, "the end", p.GetDeletionTimestamp().Format(time.TimeOnly), "12:00:30")
	a.clock.now = a.clock.now.Add(10 * time.Second)
	equal(t, "longer", a.delete(pods, "p", grace(100)).Object, p)
	p = a.delete(pods, "p", grace(15)).Object
	equal(t, "shorter", *p.GetDeletionGracePeriodSeconds(), 15)
	equal(t, "counted from the first delete", p.GetDeletionTimestamp().Format(time.TimeOnly), "12:00:15")
	a.delete(pods, "p", grace(0))
	a.refused(a.request(apiserver.Get, pods, "p"), 404, "NotFound", `pods "p" not found`)
	equal(t, "events", drain(w), "~p@6 ~p@7 ~p@8 -p@9")
}

func TestRule04PodsWithoutANodeGoAtOnce(t *testing.T) {
	a := newAPI(t)
	for name, ready := range map[string]func(){
		"pending": func() { a.create(pods, pod("pending", "")) },
		"done": func() {
			a.create(pods, pod("done", "n1"))
			a.patch(pods, "done", `{"status":{"phase":"Succeeded"}}`, sub("status"))
		},
	} {
		ready()
		equal(t, name, *a.delete(pods, name, grace(100)).Object.GetDeletionGracePeriodSeconds(), 0)
		if _, err := a.Do(a.request(apiserver.Get, pods, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestRule04GraceAndFinalizersAreSeparate(t *testing.T) {
	a := newAPI(t)
	for _, name := range []string{"p", "q"} {
		p := pod(name, "n1")
		p.Finalizers = []string{"example.com/hold"}
		a.create(pods, p)
		a.delete(pods, name)
	}
	a.patch(pods, "p", `{"metadata":{"finalizers":null}}`)
	equal(t, "without finalizer, within its grace", *a.get(pods, "p").GetDeletionGracePeriodSeconds(), 30)
	a.delete(pods, "p", grace(0))

	equal(t, "without grace, held", *a.delete(pods, "q", grace(0)).Object.GetDeletionGracePeriodSeconds(), 0)
	a.patch(pods, "q", `{"metadata":{"finalizers":null}}`)
	equal(t, "left", names(a.list(pods)), "")
}

func TestRule04CollectionsAnswerWithWhatTheyWere(t *testing.T) {
	a := newAPI(t)
	for _, n := range []string{"a", "b", "c"} {
		cm := configMap(n)
		cm.Labels = map[string]string{"set": map[string]string{"a": "1", "b": "1", "c": "2"}[n]}
		if n == "b" {
			held(cm)
		}
		a.create(configMaps, cm)
	}
	r := a.must(a.request(apiserver.DeleteCollection, configMaps, "", labelled("set=1")))
	equal(t, "answer", names(r), "a b")
	for _, o := range r.Items {
		if o.GetDeletionTimestamp() != nil {
			t.Errorf("%s shows its deletion", o.GetName())
		}
	}
	equal(t, "left", names(a.list(configMaps)), "b c")
	a.refused(a.request(apiserver.DeleteCollection, namespaces, "", in("")), 405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
}
