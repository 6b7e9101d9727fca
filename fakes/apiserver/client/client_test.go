package client_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fake "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

var ctx = context.Background()

// newClient returns a client of a fresh server.
func newClient(t testing.TB, opts ...fake.Option) *fake.Client {
	t.Helper()
	return fake.New(apiserver.NewServer(apiserver.NewStore(apiserver.Options{Guard: true}), "test"), scheme.Scheme, opts...)
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadModifyWrite(t *testing.T) {
	c := newClient(t)
	cm := configMap("a", map[string]string{"k": "v"})
	must(t, c.Create(ctx, cm))
	if cm.UID == "" || cm.ResourceVersion == "" || cm.CreationTimestamp.IsZero() {
		t.Errorf("Create did not fill in the metadata: %+v", cm.ObjectMeta)
	}

	var stale, fresh corev1.ConfigMap
	must(t, c.Get(ctx, client.ObjectKeyFromObject(cm), &stale))
	must(t, c.Get(ctx, client.ObjectKeyFromObject(cm), &fresh))
	if diff := cmp.Diff(cm, &fresh); diff != "" {
		t.Errorf("Get returns something else than Create (-create +get):\n%s", diff)
	}
	fresh.Data["k"] = "w"
	must(t, c.Update(ctx, &fresh))
	if fresh.ResourceVersion == stale.ResourceVersion {
		t.Error("Update did not bring a new resourceVersion")
	}
	stale.Data["k"] = "x"
	if err := c.Update(ctx, &stale); !apierrors.IsConflict(err) {
		t.Errorf("Update of a stale object: got %v, want a conflict", err)
	}
}

func TestResultsBelongToTheCaller(t *testing.T) {
	c := newClient(t)
	sent := configMap("a", map[string]string{"k": "v"})
	must(t, c.Create(ctx, sent))
	sent.Data["k"] = "changed after Create"

	var got corev1.ConfigMap
	must(t, c.Get(ctx, client.ObjectKeyFromObject(sent), &got))
	got.Data["k"] = "changed after Get"

	var list corev1.ConfigMapList
	must(t, c.List(ctx, &list, client.InNamespace("default")))
	for i := range list.Items {
		list.Items[i].Labels = map[string]string{"changed": "after List"}
		if list.Items[i].Data != nil {
			list.Items[i].Data["k"] = "changed after List"
		}
	}

	var again corev1.ConfigMap
	must(t, c.Get(ctx, client.ObjectKeyFromObject(sent), &again))
	if again.Data["k"] != "v" || again.Labels != nil {
		t.Errorf("a stored object was changed from outside: %v %v", again.Labels, again.Data)
	}
}

func TestKindsOfObjects(t *testing.T) {
	c := newClient(t)
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	must(t, c.Create(ctx, configMap("a", map[string]string{"k": "v"})))

	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	must(t, c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, u))
	if v, _, _ := unstructured.NestedString(u.Object, "data", "k"); v != "v" || u.GroupVersionKind() != gvk {
		t.Errorf("unstructured: got %v", u.Object)
	}
	must(t, unstructured.SetNestedField(u.Object, "w", "data", "k"))
	must(t, c.Update(ctx, u))

	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(gvk)
	must(t, c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, partial))
	if partial.ResourceVersion != u.GetResourceVersion() || partial.GroupVersionKind() != gvk {
		t.Errorf("metadata: got %+v", partial)
	}

	ulist := &unstructured.UnstructuredList{}
	ulist.SetGroupVersionKind(gvk.GroupVersion().WithKind("ConfigMapList"))
	must(t, c.List(ctx, ulist, client.InNamespace("default"), client.MatchingFields{"metadata.name": "a"}))
	if len(ulist.Items) != 1 || ulist.Items[0].GetKind() != "ConfigMap" || ulist.GetResourceVersion() == "" {
		t.Errorf("unstructured list: got %v", ulist.Object)
	}

	plist := &metav1.PartialObjectMetadataList{}
	plist.SetGroupVersionKind(gvk.GroupVersion().WithKind("ConfigMapList"))
	must(t, c.List(ctx, plist, client.InNamespace("default"), client.MatchingFields{"metadata.name": "a"}))
	if len(plist.Items) != 1 || plist.Items[0].Name != "a" || plist.Items[0].Kind != "ConfigMap" {
		t.Errorf("metadata list: got %+v", plist)
	}

	var typed corev1.ConfigMapList
	must(t, c.List(ctx, &typed, client.InNamespace("default"), client.MatchingFields{"metadata.name": "a"}))
	if len(typed.Items) != 1 || typed.Items[0].Data["k"] != "w" {
		t.Errorf("typed list: got %+v", typed.Items)
	}
}

func TestCallsThatAreNoRequest(t *testing.T) {
	c := newClient(t)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"get without a name":         {c.Get(ctx, client.ObjectKey{Namespace: "default"}, &corev1.ConfigMap{}), "resource name may not be empty"},
		"get without a namespace":    {c.Get(ctx, client.ObjectKey{Name: "a"}, &corev1.ConfigMap{}), "an empty namespace may not be set when a resource name is provided"},
		"create without a namespace": {c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), "an empty namespace may not be set during creation"},
		"create of metadata":         {c.Create(ctx, &metav1.PartialObjectMetadata{}), "cannot create using only metadata"},
	} {
		if tc.err == nil || tc.err.Error() != tc.want {
			t.Errorf("%s: got %v, want %q", name, tc.err, tc.want)
		}
	}
	unknown := &unstructured.Unstructured{}
	unknown.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	if err := c.Get(ctx, client.ObjectKey{Name: "a"}, unknown); !meta.IsNoMatchError(err) {
		t.Errorf("unknown kind: got %v, want a no-match error", err)
	}
}

func TestPatches(t *testing.T) {
	c := newClient(t)
	cm := configMap("a", map[string]string{"k": "v", "l": "v"})
	must(t, c.Create(ctx, cm))

	base := cm.DeepCopy()
	cm.Data["k"] = "merge"
	must(t, c.Patch(ctx, cm, client.MergeFrom(base)))

	cm.Data["l"] = "strategic"
	must(t, c.Patch(ctx, cm, client.StrategicMergeFrom(cm.DeepCopy())))
	if cm.Data["l"] != "v" {
		t.Errorf("an empty patch changed the object or kept an unsent change: %v", cm.Data)
	}
	must(t, c.Patch(ctx, cm, client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/data/l"}]`))))
	if diff := cmp.Diff(map[string]string{"k": "merge"}, cm.Data); diff != "" {
		t.Errorf("data after patches (-want +got):\n%s", diff)
	}

	stale := cm.DeepCopy()
	stale.ResourceVersion = base.ResourceVersion
	changed := stale.DeepCopy()
	changed.Data["k"] = "late"
	err := c.Patch(ctx, changed, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{}))
	if !apierrors.IsConflict(err) {
		t.Errorf("patch with an old resourceVersion: got %v, want a conflict", err)
	}
}

func TestDeletes(t *testing.T) {
	c := newClient(t)
	for _, name := range []string{"a", "b", "c"} {
		cm := configMap(name, nil)
		cm.Labels = map[string]string{"some": "thing"}
		must(t, c.Create(ctx, cm))
	}
	a := configMap("a", nil)
	wrong := metav1.NewUIDPreconditions("11111111-2222-4333-8444-555555555555").UID
	if err := c.Delete(ctx, a, client.Preconditions{UID: wrong}); !apierrors.IsConflict(err) {
		t.Errorf("delete with another uid: got %v, want a conflict", err)
	}
	must(t, c.Delete(ctx, a, client.DryRunAll))
	must(t, c.Delete(ctx, a))
	if err := c.Delete(ctx, a); !apierrors.IsNotFound(err) {
		t.Errorf("second delete: got %v, want not found", err)
	}
	must(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("default"), client.MatchingLabels{"some": "thing"}))
	var list corev1.ConfigMapList
	must(t, c.List(ctx, &list, client.MatchingLabels{"some": "thing"}))
	if len(list.Items) != 0 {
		t.Errorf("%d objects are left", len(list.Items))
	}
}

func TestGiveAway(t *testing.T) {
	c := newClient(t)
	must(t, c.Create(ctx, configMap("a", map[string]string{"k": "v"}), fake.GiveAway))
	var cm corev1.ConfigMap
	must(t, c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &cm))
	cm.Data["k"] = "w"
	must(t, c.Update(ctx, &cm, fake.GiveAway))
	var got corev1.ConfigMap
	must(t, c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &got))
	if got.Data["k"] != "w" {
		t.Errorf("data is %v", got.Data)
	}
}
