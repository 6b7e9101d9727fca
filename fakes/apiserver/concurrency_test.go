package apiserver_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var leases = coordinationv1.SchemeGroupVersion.WithResource("leases")

const modified = `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`

func TestRule02OneCounterForAllKinds(t *testing.T) {
	a := newAPI(t)
	first := a.create(configMaps, configMap("a"))
	a.create(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
	a.delete(secrets, "s") // takes a number too
	second := a.create(configMaps, configMap("b"))
	equal(t, "versions", first.GetResourceVersion()+" "+second.GetResourceVersion(), "5 8")
	equal(t, "an object that nobody wrote", a.get(configMaps, "a").GetResourceVersion(), "5")
	equal(t, "a list", a.list(secrets).List.ResourceVersion, "8")
}

// TestRule02WhatChangesNothingIsNoWrite: no event, no new version.
func TestRule02WhatChangesNothingIsNoWrite(t *testing.T) {
	a := newAPI(t)
	p := pod("p", "n1")
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("0.5")}
	created := a.create(pods, p)
	started := metav1.NewTime(time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC))
	status := created.DeepCopyObject().(*corev1.Pod)
	status.Status.StartTime = &started
	created = a.update(pods, status, sub("status"))
	w := a.watch(pods, version(created.GetResourceVersion()))

	same := created.DeepCopyObject().(*corev1.Pod)
	same.Labels = map[string]string{}
	same.Spec.Volumes = []corev1.Volume{}
	same.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("500m")
	same.ManagedFields = nil
	later := metav1.NewTime(started.Add(900 * time.Millisecond).In(time.FixedZone("elsewhere", 3600)))
	same.Status.StartTime = &later
	for what, got := range map[string]apiserver.Object{
		"the same content":        a.update(pods, created),
		"other spellings":         a.update(pods, same),
		"the same second":         a.update(pods, same, sub("status")),
		"an empty patch":          a.patch(pods, "p", `{}`),
		"a patch of what is so":   a.patch(pods, "p", `{"spec":{"nodeName":"n1"}}`),
		"a default spelled out":   a.patch(pods, "p", `{"spec":{"restartPolicy":"Always"}}`),
		"null for what is absent": a.patch(pods, "p", `{"metadata":{"labels":{"gone":null}}}`),
	} {
		equal(t, what, got.GetResourceVersion(), created.GetResourceVersion())
	}
	equal(t, "events", drain(w), "")
	stale := created.DeepCopyObject().(*corev1.Pod)
	stale.ResourceVersion = "1"
	if _, err := a.Do(a.request(apiserver.Update, pods, "p", body(stale))); !apierrors.IsConflict(err) {
		t.Errorf("a stale write of the same content: %v", err)
	}
}

func TestRule02ReadsAreAsNewAsTheyAsk(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	a.get(configMaps, "a", version("0"))
	a.get(configMaps, "a", version("5"))
	s := a.refused(a.request(apiserver.Get, configMaps, "a", version("999")), 504, "Timeout", "Timeout: Too large resource version: 999, current: 5")
	if !apierrors.HasStatusCause(&apierrors.StatusError{ErrStatus: s}, metav1.CauseTypeResourceVersionTooLarge) || s.Details.RetryAfterSeconds != 1 {
		t.Errorf("details %+v", s.Details)
	}
	a.refused(a.request(apiserver.List, configMaps, "", version("abc")), 400, "BadRequest",
		`invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`)
	a.refused(a.request(apiserver.List, configMaps, "", match("Exact")), 422, "Invalid",
		`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`)
}

func TestRule03AStaleWriteConflicts(t *testing.T) {
	a := newAPI(t)
	old := a.create(configMaps, configMap("a"))
	a.patch(configMaps, "a", `{"data":{"k":"1"}}`)
	s := a.refused(a.request(apiserver.Update, configMaps, "a", body(old)), 409, "Conflict", modified)
	equal(t, "details", *s.Details, metav1.StatusDetails{Name: "a", Kind: "configmaps"})
	a.refused(a.request(apiserver.Patch, configMaps, "a", merge(`{"metadata":{"resourceVersion":"5"},"data":{"k":"2"}}`)), 409, "Conflict", modified)
	a.refused(a.request(apiserver.Update, configMaps, "a", raw(`{"metadata":{"name":"a","resourceVersion":"abc"}}`)), 500, "",
		`strconv.ParseUint: parsing "abc": invalid syntax`)
	equal(t, "unconditional", a.update(configMaps, configMap("a", data("k", "2"))).(*corev1.ConfigMap).Data["k"], "2")
}

func TestRule03SomeKindsNeedAVersion(t *testing.T) {
	a := newAPI(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}
	equal(t, "PUT of a missing lease", a.must(a.request(apiserver.Update, leases, "l", body(lease))).Code, 201)
	holder := "me"
	lease.Spec.HolderIdentity = &holder
	a.refused(a.request(apiserver.Update, leases, "l", body(lease)), 422, "Invalid",
		`leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
	a.refused(a.request(apiserver.Update, configMaps, "none", body(configMap("none"))), 404, "NotFound", `configmaps "none" not found`)
}

// TestRule03ARenewalDoesNotBringBackADeletedLease: the uid in the body tells the
// lease that was deleted from a new one.
func TestRule03ARenewalDoesNotBringBackADeletedLease(t *testing.T) {
	a := newAPI(t)
	lease := a.create(leases, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}})
	a.delete(leases, "l")
	if _, err := a.Do(a.request(apiserver.Update, leases, "l", body(lease))); !apierrors.IsConflict(err) {
		t.Errorf("renewal after deletion: %v", err)
	}
	again := a.create(leases, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}})
	if again.GetUID() == lease.GetUID() {
		t.Error("the new lease has the old uid")
	}
	if _, err := a.Do(a.request(apiserver.Update, leases, "l", body(lease))); !apierrors.IsConflict(err) {
		t.Errorf("renewal of another lease: %v", err)
	}
}

func TestRule03TheFirstProblemIsTheAnswer(t *testing.T) {
	a := newAPI(t)
	bad := configMap("Bad_Name")
	a.refused(a.request(apiserver.Create, configMaps, "", body(bad), in("nowhere")), 404, "NotFound", `namespaces "nowhere" not found`)
	a.create(configMaps, configMap("a"))
	wrong := configMap("a", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"a/b": ""} })
	for _, c := range []struct {
		what string
		req  *apiserver.Request
		code int32
	}{
		{"create: invalid before taken", a.request(apiserver.Create, configMaps, "", body(wrong)), 422},
		{"create: body before namespace", a.request(apiserver.Create, configMaps, "", raw("{bad"), in("nowhere")), 400},
		{"update: missing before invalid", a.request(apiserver.Update, configMaps, "b", body(configMap("b", func(cm *corev1.ConfigMap) { cm.Data = wrong.Data }))), 404},
		{"update: conflict before invalid", a.request(apiserver.Update, configMaps, "a", body(configMap("a", func(cm *corev1.ConfigMap) { cm.Data, cm.ResourceVersion = wrong.Data, "1" }))), 409},
	} {
		_, err := a.Do(c.req)
		if s, ok := err.(apierrors.APIStatus); !ok || s.Status().Code != c.code {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
