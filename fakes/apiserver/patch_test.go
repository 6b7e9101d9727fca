package apiserver_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule07MergePatches(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a", func(cm *corev1.ConfigMap) {
		cm.Data, cm.Finalizers = map[string]string{"k": "v", "gone": "x"}, []string{"example.com/a", "example.com/b"}
	}))
	got := a.patch(configMaps, "a", `{"metadata":{"finalizers":["example.com/c"]},"data":{"gone":null,"n":"w"}}`).(*corev1.ConfigMap)
	equal(t, "data", got.Data, map[string]string{"k": "v", "n": "w"})
	equal(t, "lists are replaced", got.Finalizers, []string{"example.com/c"})
}

func TestRule07JSONPatches(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a", data("k", "v")))
	json := func(patch string) *apiserver.Request {
		return a.request(apiserver.Patch, configMaps, "a", patchType(types.JSONPatchType, patch))
	}
	got := a.must(json(`[{"op":"test","path":"/data/k","value":"v"},{"op":"add","path":"/data/n","value":"w"},{"op":"move","from":"/data/k","path":"/data/moved"}]`)).Object
	equal(t, "data", got.(*corev1.ConfigMap).Data, map[string]string{"moved": "v", "n": "w"})
	a.must(json(`[{"op":"replace","path":"/data/absent","value":"x"}]`))
	rejected := "the server rejected our request due to an error in our request"
	a.refused(json(`[{"op":"test","path":"/data/n","value":"other"}]`), 422, "Invalid", rejected)
	a.refused(json(`[{"op":"remove","path":"/data/none"}]`), 422, "Invalid", rejected)
	a.refused(json(`{"data":{}}`), 400, "BadRequest", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
	a.refused(json(`[{`), 400, "BadRequest", "invalid JSON patch")
}

func TestRule07StrategicPatches(t *testing.T) {
	a := newAPI(t)
	d := deployment("d")
	d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	a.create(deployments, d)
	strategic := func(patch string) *apiserver.Request {
		return a.request(apiserver.Patch, deployments, "d", patchType(types.StrategicMergePatchType, patch))
	}
	containers := func(o apiserver.Object) (out string) {
		for _, c := range o.(*appsv1.Deployment).Spec.Template.Spec.Containers {
			out += c.Name
			for _, e := range c.Env {
				out += "(" + e.Name + ")"
			}
		}
		return out
	}
	equal(t, "new items come first", containers(a.must(strategic(`{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"i"},{"name":"c","env":[{"name":"B"}]}]}}}}`)).Object), "dc(B)(A)")
	equal(t, "deletion", containers(a.must(strategic(`{"spec":{"template":{"spec":{"containers":[{"name":"d","$patch":"delete"}]}}}}`)).Object), "c(B)(A)")
	a.refused(strategic(`{"spec":{"template":{"spec":{"containers":[{"image":"nokey"}]}}}}`), 500, "", "map: map[image:nokey] does not contain declared merge key: name")
}

func TestRule07PatchesKeepIdentity(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	for _, c := range []struct {
		patch  string
		code   int32
		reason metav1.StatusReason
		text   string
	}{
		{`{"metadata":{"name":"b"}}`, 400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"},
		{`{"metadata":{"namespace":"other"}}`, 400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request"},
		{`{"metadata":{"uid":"other"}}`, 422, "Invalid", `ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable`},
		{`{"metadata":{"deletionGracePeriodSeconds":1}}`, 422, "Invalid", `ConfigMap "a" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 1: field is immutable`},
	} {
		a.refused(a.request(apiserver.Patch, configMaps, "a", merge(c.patch)), c.code, c.reason, c.text)
	}
	a.patch(configMaps, "a", `{"metadata":{"creationTimestamp":"2001-01-01T00:00:00Z","selfLink":"/x"}}`)
	equal(t, "silently put back", a.get(configMaps, "a").GetResourceVersion(), "5")
	a.refused(a.request(apiserver.Patch, configMaps, "none", merge(`{}`)), 404, "NotFound", `configmaps "none" not found`)
}

func TestRule07AWrongTypeIsInvalid(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a"))
	_, err := a.Do(a.request(apiserver.Patch, configMaps, "a", merge(`{"data":{"k":5}}`)))
	if err == nil || !strings.HasPrefix(err.Error(), ` "" is invalid: patch: Invalid value: "{\"kind\":\"ConfigMap\"`) && !strings.HasPrefix(err.Error(), ` "" is invalid: patch: Invalid value: "{\"apiVersion\":`) ||
		!strings.HasSuffix(err.Error(), "json: cannot unmarshal number into Go struct field ConfigMap.data of type string") {
		t.Errorf("got %v", err)
	}
}

// The error shows all that its reader sees of the object, whatever the kind of the
// patch.
func TestRule07AWrongPatchIsShownWithManagedFields(t *testing.T) {
	a := newAPI(t)
	a.create(configMaps, configMap("a", data("k", "v")), as("maker"))
	for _, how := range []func(*apiserver.Request){
		merge(`{"data":{"k":5}}`),
		patchType(types.JSONPatchType, `[{"op":"replace","path":"/data/k","value":5}]`),
	} {
		seen := func(r *apiserver.Request) { r.ManagedFields = true }
		for with, req := range map[bool]*apiserver.Request{
			false: a.request(apiserver.Patch, configMaps, "a", how),
			true:  a.request(apiserver.Patch, configMaps, "a", how, seen),
		} {
			_, err := a.Do(req)
			if err == nil || strings.Contains(err.Error(), `\"manager\":\"maker\"`) != with {
				t.Errorf("managed fields wanted: %v, got %v", with, err)
			}
		}
	}
}
