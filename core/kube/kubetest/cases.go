package kubetest

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var cases = []testCase{
	{"what is not there", func(e *env) {
		key := client.ObjectKey{Namespace: e.ns, Name: "x"}
		e.want("Get", apierrors.IsNotFound, e.Get(e.ctx, key, &corev1.Secret{}))
		e.want("Update", apierrors.IsNotFound, e.Update(e.ctx, e.secret("x", "1")))
		e.want("Delete", apierrors.IsNotFound, e.Delete(e.ctx, e.secret("x", "1")))
		e.want("Patch", apierrors.IsNotFound, e.Patch(e.ctx, e.secret("x", "1"), client.RawPatch("application/merge-patch+json", []byte("{}"))))
	}},
	{"a create fills in what the server knows", func(e *env) {
		s := e.created("a", "1")
		if s.UID == "" || s.ResourceVersion == "" || s.CreationTimestamp.IsZero() {
			e.Errorf("created %+v", s.ObjectMeta)
		}
		got := e.read()
		e.same("what is stored", s.Data, got.Data)
		e.same("its uid and version", [2]string{string(s.UID), s.ResourceVersion}, [2]string{string(got.UID), got.ResourceVersion})
	}},
	{"a name is taken once", func(e *env) {
		e.created("a", "1")
		e.want("Create", apierrors.IsAlreadyExists, e.Create(e.ctx, e.secret("a", "2")))
		e.same("the value", "1", string(e.read().Data["v"]))
	}},
	{"a namespace that is not there", func(e *env) {
		s := e.secret("a", "1")
		s.Namespace = e.ns + "-x"
		e.want("Create", apierrors.IsNotFound, e.Create(e.ctx, s))
	}},
	{"an update of what was read before somebody else wrote", func(e *env) {
		s := e.created("a", "1")
		mine, theirs := s.DeepCopy(), s.DeepCopy()
		theirs.Data["v"] = []byte("2")
		e.must(e.Update(e.ctx, theirs))
		mine.Data["v"] = []byte("3")
		e.want("Update", apierrors.IsConflict, e.Update(e.ctx, mine))
		e.same("the value", "2", string(e.read().Data["v"]))
	}},
	{"an update of one that had the name before", func(e *env) {
		s := e.created("a", "1")
		e.must(e.Delete(e.ctx, s.DeepCopy()))
		e.created("a", "2")
		s.ResourceVersion = "" // the uid alone tells them apart
		e.want("Update", apierrors.IsConflict, e.Update(e.ctx, s))
		e.same("the value", "2", string(e.read().Data["v"]))
	}},
	{"an update that changes nothing writes nothing", func(e *env) {
		s := e.created("a", "1")
		before := s.ResourceVersion
		e.must(e.Update(e.ctx, s))
		e.same("the version", before, e.read().ResourceVersion)
	}},
	{"a patch bound to a version", func(e *env) {
		s := e.created("a", "1")
		next := s.DeepCopy()
		next.Annotations = map[string]string{"k": "v"}
		lock := client.MergeFromWithOptions(s, client.MergeFromWithOptimisticLock{})
		e.must(e.Patch(e.ctx, next.DeepCopy(), lock))
		e.want("a second Patch", apierrors.IsConflict, e.Patch(e.ctx, next.DeepCopy(), lock))
		got := e.read()
		e.same("annotations", map[string]string{"k": "v"}, got.Annotations)
		e.same("the value", "1", string(got.Data["v"]))
	}},
	{"a delete bound to a version, and to an object", func(e *env) {
		s := e.created("a", "1")
		old := s.ResourceVersion
		s.Data["v"] = []byte("2")
		e.must(e.Update(e.ctx, s))
		e.want("Delete of the version before", apierrors.IsConflict, e.Delete(e.ctx, s.DeepCopy(), client.Preconditions{UID: &s.UID, ResourceVersion: &old}))
		other := s.UID + "0"
		e.want("Delete of another object", apierrors.IsConflict, e.Delete(e.ctx, s.DeepCopy(), client.Preconditions{UID: &other}))
		e.must(e.Delete(e.ctx, s.DeepCopy(), client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}))
		e.want("Get", apierrors.IsNotFound, e.Get(e.ctx, client.ObjectKeyFromObject(s), &corev1.Secret{}))
	}},
	{"what has a finalizer lingers", func(e *env) {
		s := e.secret("a", "1")
		s.Finalizers = []string{"kubetest.seedbed.dev/hold"}
		e.must(e.Create(e.ctx, s))
		e.must(e.Delete(e.ctx, s.DeepCopy()))
		got := e.read()
		if got.DeletionTimestamp == nil {
			e.Error("no time of deletion")
		}
		got.Finalizers = nil
		e.must(e.Update(e.ctx, got))
		e.want("Get", apierrors.IsNotFound, e.Get(e.ctx, client.ObjectKeyFromObject(s), &corev1.Secret{}))
	}},
	{"lists are in order, and narrowed", func(e *env) {
		for _, name := range []string{"c", "a", "b"} {
			e.created(name, "1")
		}
		names, _ := e.listed()
		e.same("all", []string{"a", "b", "c"}, names)
		names, _ = e.listed(client.MatchingLabels{"of": "b"})
		e.same("by a label", []string{"b"}, names)
		names, _ = e.listed(client.MatchingFields{"metadata.name": "c"})
		e.same("by a name", []string{"c"}, names)
		names, _ = e.listed(client.HasLabels{"nobody"})
		e.same("of none", []string(nil), names)
	}},
	{"lists in pages", func(e *env) {
		for _, name := range []string{"a", "b", "c"} {
			e.created(name, "1")
		}
		names, next := e.listed(client.Limit(2))
		e.same("the first page", []string{"a", "b"}, names)
		names, next = e.listed(client.Limit(2), client.Continue(next))
		e.same("the second page", []string{"c"}, names)
		e.same("it is the last", "", next)
	}},
	{"objects without a type", func(e *env) {
		e.created("a", "1")
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("v1")
		list.SetKind("SecretList")
		e.must(e.List(e.ctx, list, client.InNamespace(e.ns)))
		if len(list.Items) != 1 || list.Items[0].GetKind() != "Secret" || list.Items[0].GetAPIVersion() != "v1" {
			e.Fatalf("listed %v", list.Items)
		}
		before := list.Items[0].GetResourceVersion()
		e.must(e.Update(e.ctx, &list.Items[0]))
		e.same("the version after an update that changes nothing", before, e.read().ResourceVersion)
	}},
	{"a status that is applied by several", statusApplied},
	{"a status is not written with the object", func(e *env) {
		ns := &corev1.Namespace{}
		e.must(e.Get(e.ctx, client.ObjectKey{Name: e.ns}, ns))
		ns.Status.Phase = corev1.NamespaceTerminating
		ns.Labels["kubetest"] = "yes"
		e.must(e.Update(e.ctx, ns))
		got := &corev1.Namespace{}
		e.must(e.Get(e.ctx, client.ObjectKey{Name: e.ns}, got))
		e.same("the phase", corev1.NamespaceActive, got.Status.Phase)
		e.same("the label", "yes", got.Labels["kubetest"])
	}},
	{"objects are the caller's own", func(e *env) {
		s := e.created("a", "1")
		s.Data["v"][0] = 'x'
		got := e.read()
		e.same("the value after a change of what was written", "1", string(got.Data["v"]))
		got.Data["v"][0] = 'x'
		e.same("the value after a change of what was read", "1", string(e.read().Data["v"]))
	}},
	{"a call whose context has ended", func(e *env) {
		if err := e.Create(e.ended, e.secret("a", "1")); err == nil {
			e.Error("Create succeeds")
		}
		e.want("Get", apierrors.IsNotFound, e.Get(e.ctx, client.ObjectKey{Namespace: e.ns, Name: "a"}, &corev1.Secret{}))
	}},
}

// statusApplied: each manager owns the conditions that it applies; what it applies no
// more goes, and what is another's stays.
func statusApplied(e *env) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	e.must(e.Create(e.ctx, pod))
	apply := func(manager string, types ...string) {
		e.Helper()
		var conditions []any
		for _, kind := range types {
			conditions = append(conditions, map[string]any{"type": kind, "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"})
		}
		u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		u.SetNamespace(e.ns)
		u.SetName("p")
		e.must(e.Status().Apply(e.ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership))
	}
	conditions := func() (types []string) {
		got := &corev1.Pod{}
		e.must(e.Get(e.ctx, client.ObjectKeyFromObject(pod), got))
		for _, c := range got.Status.Conditions {
			types = append(types, string(c.Type))
		}
		return types
	}
	apply("one", "One", "Two")
	apply("other", "Three")
	e.same("conditions of both", []string{"One", "Two", "Three"}, conditions())
	apply("one", "One")
	e.same("conditions after the first gave one up", []string{"One", "Three"}, conditions())
}
