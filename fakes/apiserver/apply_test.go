package apiserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// as makes a write somebody's, and asks for the managed fields.
func as(manager string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.UserAgent, r.ManagedFields = manager+"/v1 (linux)", true }
}

// applied is an apply of a configuration by a manager.
func applied(manager, config string) func(*apiserver.Request) {
	return func(r *apiserver.Request) {
		r.PatchType, r.Body, r.FieldManager, r.ManagedFields = types.ApplyYAMLPatchType, []byte(config), manager, true
	}
}

// ownersOf is who owns what, in short.
func ownersOf(obj apiserver.Object) map[string]string {
	out := map[string]string{}
	for _, e := range obj.GetManagedFields() {
		key := e.Manager + " " + string(e.Operation)
		if e.Subresource != "" {
			key += " " + e.Subresource
		}
		out[key] = e.FieldsV1.GetRawString()
	}
	return out
}

func TestRule01WritersOwnWhatTheyChange(t *testing.T) {
	a := newAPI(t)
	pod := a.create(pods, pod("a", "n1"), as("maker")).(*corev1.Pod)
	for _, e := range pod.ManagedFields {
		if fields := e.FieldsV1.GetRawString(); e.Manager != "maker" || containsField(fields, "f:tolerations") || containsField(fields, "f:status") || !containsField(fields, "f:restartPolicy") {
			t.Errorf("the maker of a pod owns its defaults, not what admission adds, nor its status: %s owns %s", e.Manager, fields)
		}
	}
	a.create(configMaps, configMap("a", data("k", "v")), as("maker"))
	a.must(a.request(apiserver.Patch, configMaps, "a", merge(`{"data":{"l":"1"}}`), as("editor")))
	obj := a.must(a.request(apiserver.Patch, configMaps, "a", merge(`{"data":{"k":"w"}}`), as("editor"))).Object
	want := map[string]string{"maker Update": `{"f:data":{}}`, "editor Update": `{"f:data":{"f:k":{},"f:l":{}}}`}
	if diff := cmp.Diff(want, ownersOf(obj)); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	got := a.must(a.request(apiserver.Get, configMaps, "a")).Object
	if got.GetManagedFields() != nil {
		t.Errorf("a reader that does not ask gets %v", got.GetManagedFields())
	}
	obj = a.must(a.request(apiserver.Patch, configMaps, "a", merge(`{"metadata":{"managedFields":[{}]}}`), as("editor"))).Object
	if len(obj.GetManagedFields()) != 0 {
		t.Errorf("cleared, and yet %v", obj.GetManagedFields())
	}
	obj = a.must(a.request(apiserver.Patch, configMaps, "a", merge(`{"data":{"k":"x"}}`), as("editor"))).Object
	if len(obj.GetManagedFields()) != 0 {
		t.Errorf("tracking started again: %v", obj.GetManagedFields())
	}
}

func containsField(fields, name string) bool {
	return len(fields) > 0 && strings.Contains(fields, `"`+name+`"`)
}

func TestRule08ApplyOwnsAndConflicts(t *testing.T) {
	clock := &handClock{now: time.Unix(1000, 0)}
	a := newAPI(t, func(o *apiserver.Options) { o.Clock = clock })
	config := func(data string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + data + `}`
	}
	r := a.must(a.request(apiserver.Patch, configMaps, "a", applied("m1", config(`{"k":"v","l":"v"}`))))
	if r.Code != 201 {
		t.Errorf("an apply that creates answers %d", r.Code)
	}
	first := r.Object.GetResourceVersion()
	clock.now = time.Unix(2000, 0)
	again := a.must(a.request(apiserver.Patch, configMaps, "a", applied("m1", config(`{"k":"v","l":"v"}`)))).Object
	if again.GetResourceVersion() != first || !again.GetManagedFields()[0].Time.Equal(&metav1.Time{Time: time.Unix(1000, 0)}) {
		t.Errorf("the same apply again wrote: %s after %s, %v", again.GetResourceVersion(), first, again.GetManagedFields())
	}
	a.refused(a.request(apiserver.Patch, configMaps, "a", applied("m2", config(`{"k":"w"}`))), 409, "Conflict",
		`Apply failed with 1 conflict: conflict with "m1": .data.k`)
	forced := a.must(a.request(apiserver.Patch, configMaps, "a", applied("m2", config(`{"k":"w"}`)), func(r *apiserver.Request) {
		yes := true
		r.Force = &yes
	})).Object
	want := map[string]string{"m1 Apply": `{"f:data":{"f:l":{}}}`, "m2 Apply": `{"f:data":{"f:k":{}}}`}
	if diff := cmp.Diff(want, ownersOf(forced)); diff != "" {
		t.Errorf("owners after force (-want +got):\n%s", diff)
	}
	left := a.must(a.request(apiserver.Patch, configMaps, "a", applied("m1", config(`{}`)))).Object.(*corev1.ConfigMap)
	if diff := cmp.Diff(map[string]string{"k": "w"}, left.Data); diff != "" {
		t.Errorf("what nobody owns any more goes (-want +got):\n%s", diff)
	}
	a.refused(a.request(apiserver.Patch, configMaps, "b", in("nowhere"), applied("m", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)),
		404, "NotFound", `namespaces "nowhere" not found`)
}

func TestRule08ApplyAfterUntrackedObject(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a", data("k", "v")), as("maker"))
	a.must(a.request(apiserver.Patch, configMaps, "a", merge(`{"metadata":{"managedFields":[{}]}}`), as("maker")))
	a.refused(a.request(apiserver.Patch, configMaps, "a", applied("m", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}`)),
		409, "Conflict", `Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k`)
}

func TestRule08StatusAndScaleHaveOwnersOfTheirOwn(t *testing.T) {
	a := newAPI(t)
	d := a.must(a.request(apiserver.Patch, deployments, "a", applied("user", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`))).Object.(*appsv1.Deployment)
	if *d.Spec.Replicas != 2 || d.Spec.Strategy.Type == "" {
		t.Errorf("applied %+v", d.Spec)
	}
	a.must(a.request(apiserver.Patch, deployments, "a", sub("status"), merge(`{"status":{"replicas":2}}`), as("controller")))
	a.must(a.request(apiserver.Patch, deployments, "a", sub("scale"), merge(`{"spec":{"replicas":4}}`), as("hpa")))
	got := ownersOf(a.must(a.request(apiserver.Get, deployments, "a", as("reader"))).Object)
	if got["controller Update status"] != `{"f:status":{"f:replicas":{}}}` || got["hpa Update scale"] != `{"f:spec":{"f:replicas":{}}}` ||
		strings.Contains(got["user Apply"], "f:replicas") {
		t.Errorf("owners are %v", got)
	}
	a.refused(a.request(apiserver.Patch, deployments, "a", sub("scale"), applied("other", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":5}}`)),
		409, "Conflict", `Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using autoscaling/v1: .spec.replicas`)
	a.must(a.request(apiserver.Patch, deployments, "a", applied("user", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)))
	if d := a.must(a.request(apiserver.Get, deployments, "a")).Object.(*appsv1.Deployment); *d.Spec.Replicas != 4 {
		t.Errorf("what the scale owns was removed: %d replicas", *d.Spec.Replicas)
	}
}
