package crd_test

import (
	"errors"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var (
	thingKind = schema.GroupKind{Group: "example.com", Kind: "Thing"}
	stored    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	other     = schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "things"}
)

// things is a server that serves a kind in YAML.
func things(t testing.TB, spec string) *apiserver.Server {
	t.Helper()
	d := &apiextensions.CustomResourceDefinition{}
	d.Name = "things.example.com"
	if err := yaml.UnmarshalStrict([]byte(spec), &d.Spec); err != nil {
		t.Fatal(err)
	}
	d.Spec.Group, d.Spec.Names = "example.com", apiextensions.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"}
	server := apiserver.New(apiserver.Options{})
	if err := server.Define(d); err != nil {
		t.Fatal(err)
	}
	return server
}

const converted = `{scope: Cluster, conversion: {strategy: Webhook, webhook: {clientConfig: {url: 'https://a.example/'}, conversionReviewVersions: [v1]}},
 versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: integer}}}}},
  {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {a: {type: integer}, b: {type: integer, default: 2}}}}}]}`

func thing(version, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Thing", "metadata": map[string]any{"name": name}, "a": int64(1),
	}}
}

// TestMistakesOfConverters: what a converter returns is checked as a webhook's answer is.
func TestMistakesOfConverters(t *testing.T) {
	const failed = "conversion webhook for example.com/v1, Kind=Thing "
	for _, c := range []struct {
		name    string
		convert func(u *unstructured.Unstructured) (*unstructured.Unstructured, error)
		text    string
	}{
		{"an error", func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, errors.New("no") }, failed + "failed: no"},
		{"nothing", func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, nil }, failed + "failed, no objects returned"},
		{"the same version", func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) { return u, nil },
			failed + "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)"},
		{"another kind", change(func(u *unstructured.Unstructured) { u.SetKind("Other") }),
			failed + "returned invalid object at index 0: invalid kind (expected Thing, received Other)"},
		{"another name", change(func(u *unstructured.Unstructured) { u.SetName("b") }), failed + "returned invalid object: must have the same name: a != b"},
		{"another namespace", change(func(u *unstructured.Unstructured) { u.SetNamespace("b") }), failed + "returned invalid object: must have the same namespace:  != b"},
		{"another uid", change(func(u *unstructured.Unstructured) { u.SetUID("b") }), failed + "returned invalid object: must have the same UID: "},
		{"no metadata", change(func(u *unstructured.Unstructured) { delete(u.Object, "metadata") }), failed + "returned invalid object: must have the same name: a != "},
		{"labels of numbers", change(func(u *unstructured.Unstructured) {
			u.Object["metadata"].(map[string]any)["labels"] = map[string]any{"a": int64(1)}
		}), failed + "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"},
		{"labels that are a list", change(func(u *unstructured.Unstructured) { u.Object["metadata"].(map[string]any)["labels"] = []any{} }),
			failed + "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object"},
		{"bad labels", change(func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"-": "x"}) }), failed + `returned invalid metadata: metadata.labels: Invalid value: "-": `},
	} {
		server := things(t, converted)
		server.Store().ConvertBy(thingKind, func(u *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
			return c.convert(u)
		})
		if _, err := server.Do(&apiserver.Request{Verb: apiserver.Create, Resource: stored, Object: thing("v1", "a")}); err != nil {
			t.Fatal(err)
		}
		_, err := server.Do(&apiserver.Request{Verb: apiserver.Get, Resource: other, Name: "a"})
		if err == nil || len(err.Error()) < len(c.text) || err.Error()[:len(c.text)] != c.text {
			t.Errorf("%s:\n got %v\nwant %s…", c.name, err, c.text)
		}
	}
}

// change is a converter that does its work and something else.
func change(also func(*unstructured.Unstructured)) func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		u.SetAPIVersion("example.com/v2")
		also(u)
		return u, nil
	}
}

// TestConvertersChangeNoMetadata: but labels and annotations, which they may change,
// nothing of the metadata comes from the converter. What comes out is pruned.
func TestConvertersChangeNoMetadata(t *testing.T) {
	server := things(t, converted)
	server.Store().ConvertBy(thingKind, func(u *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
		u.SetAPIVersion(to.String())
		u.SetLabels(map[string]string{"seen": to.Version})
		u.SetFinalizers([]string{"example.com/stay"})
		u.SetGeneration(77)
		u.Object["unknown"] = true
		return u, nil
	})
	if _, err := server.Do(&apiserver.Request{Verb: apiserver.Create, Resource: stored, Object: thing("v1", "a")}); err != nil {
		t.Fatal(err)
	}
	got, err := server.Do(&apiserver.Request{Verb: apiserver.Get, Resource: other, Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	u := got.Object.(*unstructured.Unstructured)
	if u.GetLabels()["seen"] != "v2" || u.GetFinalizers() != nil || u.GetGeneration() != 1 || u.Object["unknown"] != nil {
		t.Errorf("got %v", u.Object)
	}
}
