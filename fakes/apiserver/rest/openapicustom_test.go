package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

var definitions = apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions")

// defined is a server with the definitions of testdata/definitions.
func defined(t *testing.T) *apiserver.Server {
	t.Helper()
	server := apiserver.New(apiserver.Options{})
	files, err := filepath.Glob("testdata/definitions/*.yaml")
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		var d apiextensions.CustomResourceDefinition
		must(t, yaml.UnmarshalStrict(text, &d))
		_, err = server.Do(&apiserver.Request{Verb: apiserver.Create, Resource: definitions, Object: &d})
		must(t, err)
	}
	return server
}

// documentsOf is what is said of the custom resources of the groups named example.
type documentsOf struct {
	Index       map[string]string         `json:"index"` // addresses have a hash of the document in them
	Definitions map[string]map[string]any `json:"definitions"`
	Operations  []string                  `json:"operations"`
}

func readDocuments(t *testing.T, h *rest.Handler) documentsOf {
	t.Helper()
	out := documentsOf{Index: map[string]string{}, Definitions: map[string]map[string]any{}}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	_, data := fetch(t, h, get("/openapi/v3", ""))
	must(t, json.Unmarshal(data, &index))
	for name, at := range index.Paths {
		if strings.Contains(name, "example") {
			out.Index[name] = at.ServerRelativeURL
		}
	}
	var doc struct {
		Definitions map[string]map[string]any
		Paths       map[string]map[string]json.RawMessage
	}
	_, data = fetch(t, h, get("/openapi/v2", ""))
	must(t, json.Unmarshal(data, &doc))
	for name, definition := range doc.Definitions {
		if strings.Contains(name, "example") {
			out.Definitions[name] = definition
		}
	}
	for path, methods := range doc.Paths {
		for method, raw := range methods {
			var operation struct{ OperationID string }
			if strings.Contains(path, "example") && method != "parameters" {
				must(t, json.Unmarshal(raw, &operation))
				out.Operations = append(out.Operations, fmt.Sprintf("%s %s %s", method, path, operation.OperationID))
			}
		}
	}
	slices.Sort(out.Operations)
	return out
}

// TestOpenAPIOfDefinitions compares with what a kube-apiserver v1.37.2 told of the
// same definitions: documents of version 3 by their hash, byte for byte, and of
// version 2 the schemas and the operations.
func TestOpenAPIOfDefinitions(t *testing.T) {
	text, err := os.ReadFile("testdata/definitions/told.json")
	must(t, err)
	var want documentsOf
	must(t, json.Unmarshal(text, &want))
	if diff := cmp.Diff(want, readDocuments(t, rest.New(defined(t)))); diff != "" {
		t.Errorf("documents (-real +fake):\n%s", diff)
	}
}

// TestOpenAPIFollowsDefinitions: documents come and go with what they describe.
func TestOpenAPIFollowsDefinitions(t *testing.T) {
	server := defined(t)
	h := rest.New(server)
	before := readDocuments(t, h)
	_, err := server.Do(&apiserver.Request{
		Verb: apiserver.Patch, Resource: definitions, Name: "widgets.example.com", PatchType: "application/json-patch+json",
		Body: []byte(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more","value":{"type":"string"}}]`),
	})
	must(t, err)
	changed := readDocuments(t, h)
	const name = "apis/example.com/v1"
	if before.Index[name] == changed.Index[name] {
		t.Error("the document has not changed with its definition")
	}
	if before.Index["apis/example.com/v1beta1"] != changed.Index["apis/example.com/v1beta1"] {
		t.Error("the document of the other version has changed")
	}
	if resp, _ := fetch(t, h, get(before.Index[name], "")); resp.StatusCode != http.StatusMovedPermanently || resp.Header.Get("Location") != changed.Index[name] {
		t.Errorf("the old address: %s, %s", resp.Status, resp.Header.Get("Location"))
	}
	for _, name := range []string{"widgets.example.com", "gadgets.example.com", "scraps.rest.example.org"} {
		_, err := server.Do(&apiserver.Request{Verb: apiserver.Delete, Resource: definitions, Name: name})
		must(t, err)
	}
	nothing := documentsOf{Index: map[string]string{}, Definitions: map[string]map[string]any{}}
	if diff := cmp.Diff(nothing, readDocuments(t, h)); diff != "" {
		t.Errorf("after the definitions have gone (-want +got):\n%s", diff)
	}
	if resp, _ := fetch(t, h, get("/openapi/v3/"+name, "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a document that has gone: %s", resp.Status)
	}
}

// TestOpenAPIOfKindsInGo: a kind without a schema has no document, as there is
// nothing to say.
func TestOpenAPIOfKindsInGo(t *testing.T) {
	store := apiserver.NewStore(apiserver.Options{})
	must(t, store.Register(apiserver.KindInfo{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}}))
	got := readDocuments(t, rest.New(apiserver.NewServer(store, "test")))
	if len(got.Index)+len(got.Definitions)+len(got.Operations) > 0 {
		t.Errorf("documents: %+v", got)
	}
}
