package apiserver_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestRule18ADryRunLeavesNoTrace(t *testing.T) {
	a := newAPI(t)
	made := a.create(configMaps, configMap("a"), dryRun)
	if made.GetUID() == "" || made.GetResourceVersion() != "" {
		t.Errorf("create: uid %q, version %q", made.GetUID(), made.GetResourceVersion())
	}
	equal(t, "stored", names(a.list(configMaps)), "")
	a.create(configMaps, configMap("a", held))
	w := a.watch(configMaps, version("5"))
	a.refused(a.request(apiserver.Create, configMaps, "", body(configMap("a")), dryRun), 409, "AlreadyExists", `configmaps "a" already exists`)
	equal(t, "update", a.patch(configMaps, "a", `{"data":{"k":"v"}}`, dryRun).GetResourceVersion(), "5")
	if d := a.delete(configMaps, "a", dryRun).Object; d.GetDeletionTimestamp() == nil || d.GetResourceVersion() != "5" {
		t.Errorf("delete: %+v", d)
	}
	a.patch(configMaps, "a", `{"metadata":{"finalizers":null}}`, dryRun)
	a.must(a.request(apiserver.DeleteCollection, configMaps, "", dryRun))
	equal(t, "events", drain(w), "")
	equal(t, "object", a.get(configMaps, "a").GetDeletionTimestamp(), nil)
	a.refused(a.request(apiserver.Create, configMaps, "", body(configMap("b")), func(r *apiserver.Request) { r.DryRun = []string{"Some"} }), 422, "Invalid",
		`CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"`)
}

func TestRule18UnknownFields(t *testing.T) {
	a := newAPI(t)
	send := func(directive string) *apiserver.Request {
		return a.request(apiserver.Create, configMaps, "", raw(`{"metadata":{"name":"a","nope":1},"bogus":1}`), dryRun, func(r *apiserver.Request) { r.FieldValidation = directive })
	}
	equal(t, "by default", a.must(send("")).Warnings, []string{`unknown field "metadata.nope"`, `unknown field "bogus"`})
	equal(t, "ignored", a.must(send("Ignore")).Warnings, nil)
	a.refused(send("Strict"), 400, "BadRequest",
		`ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.nope", unknown field "bogus"`)
	a.refused(send("Loud"), 422, "Invalid",
		`CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loud": supported values: "", "Ignore", "Strict", "Warn"`)
}

func TestRule17BodiesThatAreNone(t *testing.T) {
	a := newAPI(t)
	for text, want := range map[string]string{
		"{bad":                `the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character 'b' looking for beginning of object key string ({bad)`,
		"":                    `the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`,
		`{"data":{"k":1}}`:    `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
		`{"kind":"Secret"}`:   `Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion`,
		`{"apiVersion":"v2"}`: `ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"`,
	} {
		a.refused(a.request(apiserver.Create, configMaps, "", raw(text)), 400, "BadRequest", want)
	}
	yaml := a.request(apiserver.Create, configMaps, "", raw("metadata: {name: y1}\ndata: {k: v}\n"), func(r *apiserver.Request) { r.ContentType = "application/yaml" })
	equal(t, "YAML", a.must(yaml).Object.(*corev1.ConfigMap).Data["k"], "v")
	wire, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Data: map[string]string{"k": "v"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	proto := a.request(apiserver.Create, configMaps, "", func(r *apiserver.Request) {
		r.ContentType, r.Body = "application/vnd.kubernetes.protobuf", append([]byte{'k', '8', 's', 0}, unknown("v1", "ConfigMap", wire)...)
	})
	equal(t, "protobuf", a.must(proto).Object.(*corev1.ConfigMap).Data["k"], "v")
}

// unknown is the envelope of a protobuf body.
func unknown(apiVersion, kind string, content []byte) []byte {
	field := func(n byte, b []byte) []byte {
		return append([]byte{n<<3 | 2, byte(len(b))}, b...)
	}
	return append(field(1, append(field(1, []byte(apiVersion)), field(2, []byte(kind))...)), field(2, content)...)
}

func TestRule17UntypedBodiesOfTypedKinds(t *testing.T) {
	a := newAPI(t)
	got := a.create(configMaps, untyped("ConfigMap", "v1", "a", map[string]any{"data": map[string]any{"k": "v"}}))
	equal(t, "stored as its Go type", got.(*corev1.ConfigMap).Data["k"], "v")
	a.refused(a.request(apiserver.Create, configMaps, "", body(untyped("ConfigMap", "v1", "b", map[string]any{"data": "text"}))), 400, "BadRequest",
		`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string`)
	if _, err := a.Do(a.request(apiserver.Create, configMaps, "", body(pod("p", "")))); err == nil {
		t.Error("a Pod was taken for a ConfigMap")
	}
}
