package apiserver_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule01TheServerSetsIdentity(t *testing.T) {
	a := newAPI(t)
	long := metav1.NewTime(time.Unix(1, 0))
	sent := configMap("a", func(cm *corev1.ConfigMap) {
		cm.SetSelfLink("/mine")
		cm.UID, cm.CreationTimestamp = "mine", long
		cm.DeletionTimestamp, cm.DeletionGracePeriodSeconds = &long, new(int64)
	})
	got := a.create(configMaps, sent)
	if got.GetUID() == "mine" || len(got.GetUID()) != 36 || got.GetUID()[14] != '4' {
		t.Errorf("uid %q", got.GetUID())
	}
	equal(t, "creation", got.GetCreationTimestamp().Format(time.RFC3339Nano), "2030-01-01T12:00:00Z")
	if got.GetDeletionTimestamp() != nil || got.GetDeletionGracePeriodSeconds() != nil || got.GetSelfLink() != "" {
		t.Errorf("kept what only the server sets: %+v", got)
	}
	if sent.UID != "mine" {
		t.Error("the caller's object was changed")
	}
	again := a.create(configMaps, configMap("b"))
	if again.GetUID() == got.GetUID() {
		t.Error("the same uid twice")
	}
}

func TestRule01NamesAreGeneratedUntilOneIsFree(t *testing.T) {
	a := newAPI(t)
	seen := map[string]bool{}
	for range 50 {
		name := a.create(configMaps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "job-"}}).GetName()
		if seen[name] || !strings.HasPrefix(name, "job-") || len(name) != 9 || strings.Trim(name[4:], "bcdfghjklmnpqrstvwxz2456789") != "" {
			t.Errorf("generated %q", name)
		}
		seen[name] = true
	}
	base := strings.Repeat("x", 70)
	if name := a.create(configMaps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: base}}).GetName(); len(name) != 63 {
		t.Errorf("a long base gives %q", name)
	}

	// All names taken: the reader of entropy always says the same.
	a = newAPI(t, func(o *apiserver.Options) { o.Entropy = zeros{} })
	a.create(configMaps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}})
	s := a.refused(a.request(apiserver.Create, configMaps, "", body(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}})),
		409, "AlreadyExists", `configmaps "g-bbbbb" already exists, the server was not able to generate a unique name for the object`)
	equal(t, "retry after", s.Details.RetryAfterSeconds, 1)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestRule01MetadataIsChecked(t *testing.T) {
	a := newAPI(t)
	for _, c := range []struct {
		what   string
		change func(*corev1.ConfigMap)
		text   string
	}{
		{"no name", func(cm *corev1.ConfigMap) { cm.Name = "" }, `ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required`},
		{"an unqualified finalizer", func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"hold"} },
			`ConfigMap "a" is invalid: metadata.finalizers[0]: Invalid value: "hold": name is neither a standard finalizer name nor is it fully qualified`},
		{"both propagation finalizers", func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"orphan", "foregroundDeletion"} },
			`ConfigMap "a" is invalid: metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set`},
		{"an owner without a name", func(cm *corev1.ConfigMap) {
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", UID: "1"}}
		}, `ConfigMap "a" is invalid: metadata.ownerReferences[0].name: Required value: must not be empty`},
	} {
		t.Run(c.what, func(t *testing.T) {
			a := *a
			a.TB = t
			a.refused(a.request(apiserver.Create, configMaps, "", body(configMap("a", c.change))), 422, "Invalid", c.text)
		})
	}
}

func TestRule01TheLastWordOnNamesIsThePath(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	a.refused(a.request(apiserver.Update, configMaps, "a", body(configMap("b"))), 400, "BadRequest",
		"the name of the object (b) does not match the name on the URL (a)")
	a.refused(a.request(apiserver.Update, configMaps, "a", body(configMap(""))), 400, "BadRequest",
		"the name of the object (a based on URL) was undeterminable: name must be provided")
	elsewhere := configMap("c")
	elsewhere.Namespace = "kube-system"
	const text = "the namespace of the provided object does not match the namespace sent on the request"
	a.refused(a.request(apiserver.Create, configMaps, "", body(elsewhere)), 400, "BadRequest", text)
	a.refused(a.request(apiserver.Update, configMaps, "a", body(elsewhere)), 400, "BadRequest", text)
}

// TestRule01GenerationsCountWhatControllersObey covers kinds of each sort.
func TestRule01GenerationsCountWhatControllersObey(t *testing.T) {
	a := newAPI(t)
	gen := func(o apiserver.Object) int64 { return o.GetGeneration() }
	equal(t, "ConfigMap", gen(a.create(configMaps, configMap("a"))), 0)

	d := deployment("d")
	d.Generation = 77
	equal(t, "Deployment", gen(a.create(deployments, d)), 1)
	for _, step := range []struct {
		what, patch string
		want        int64
	}{
		{"a label", `{"metadata":{"labels":{"l":"1"}}}`, 1},
		{"the spec", `{"spec":{"replicas":3}}`, 2},
		{"the same again", `{"spec":{"replicas":3}}`, 2},
		{"a generation", `{"metadata":{"generation":99}}`, 2},
		{"status from the main endpoint", `{"status":{"replicas":9}}`, 2},
		{"an annotation, as it is copied to the replica sets", `{"metadata":{"annotations":{"n":"1"}}}`, 3},
		{"an annotation of the template", `{"spec":{"template":{"metadata":{"annotations":{"n":"1"}}}}}`, 4},
	} {
		equal(t, step.what, gen(a.patch(deployments, "d", step.patch)), step.want)
	}
	equal(t, "status", gen(a.patch(deployments, "d", `{"status":{"replicas":3}}`, sub("status"))), 4)
	held := a.patch(deployments, "d", `{"metadata":{"finalizers":["example.com/f"]}}`)
	equal(t, "a finalizer", gen(held), 4)
	equal(t, "deletion", gen(a.delete(deployments, "d").Object), 5)
	equal(t, "a second deletion", gen(a.delete(deployments, "d").Object), 5)

	a.create(pods, pod("p", "n1"))
	a.must(a.request(apiserver.Patch, pods, "p", merge(`{"metadata":{"labels":{"l":"1"}}}`)))
	equal(t, "a pod's image", gen(a.patch(pods, "p", `{"spec":{"containers":[{"name":"c","image":"image:v2"}]}}`,
		patchType("application/strategic-merge-patch+json", `{"spec":{"containers":[{"name":"c","image":"image:v2"}]}}`))), 2)
	equal(t, "graceful deletion", gen(a.delete(pods, "p").Object), 3)
	equal(t, "shortened", gen(a.delete(pods, "p", grace(5)).Object), 3)
}

func TestRule01DaemonSetsCountTheirTemplates(t *testing.T) {
	a := newAPI(t)
	gvr := appsv1.SchemeGroupVersion.WithResource("daemonsets")
	d := deployment("d")
	a.create(gvr, &appsv1.DaemonSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.DaemonSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template}})
	count := func() string { return a.get(gvr, "d").GetAnnotations()["deprecated.daemonset.template.generation"] }
	equal(t, "at first", count(), "1")
	a.patch(gvr, "d", `{"spec":{"minReadySeconds":5}}`)
	equal(t, "after another change", count(), "1")
	a.patch(gvr, "d", `{"spec":{"template":{"metadata":{"annotations":{"n":"1"}}}}}`)
	equal(t, "after a change of the template", count(), "2")
}
