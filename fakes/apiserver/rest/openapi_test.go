package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi3"
)

// TestOpenAPIv3 reads the index and a document as client-go does.
func TestOpenAPIv3(t *testing.T) {
	h := newHandler()
	root := openapi3.NewRoot(kubernetes.NewForConfigOrDie(h.Config()).Discovery().OpenAPIV3())
	versions, err := root.GroupVersions()
	must(t, err)
	if len(versions) < 10 {
		t.Errorf("documents of %v", versions)
	}
	doc, err := root.GVSpec(schema.GroupVersion{Group: "apps", Version: "v1"})
	must(t, err)
	if _, ok := doc.Components.Schemas["io.k8s.api.apps.v1.Deployment"]; !ok {
		t.Error("no Deployment in apps/v1")
	}
	for path := range doc.Paths.Paths {
		if strings.Contains(path, "nodes/{name}/proxy") {
			t.Errorf("%s is not served", path)
		}
	}
}

// TestOpenAPIAddresses: the address in the index can be kept for ever, any other
// leads there, and who has a document is not sent it again.
func TestOpenAPIAddresses(t *testing.T) {
	h := newHandler()
	_, data := fetch(t, h, get("/openapi/v3", ""))
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	must(t, json.Unmarshal(data, &index))
	at := index.Paths["apis/batch/v1"].ServerRelativeURL
	if !strings.HasPrefix(at, "/openapi/v3/apis/batch/v1?hash=") {
		t.Fatalf("apis/batch/v1 is at %q", at)
	}
	resp, _ := fetch(t, h, get(at, ""))
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "public, immutable" {
		t.Errorf("%s: %s, %v", at, resp.Status, resp.Header)
	}
	r := get("/openapi/v3/apis/batch/v1", "")
	r.Header.Set("If-None-Match", resp.Header.Get("Etag"))
	if again, _ := fetch(t, h, r); again.StatusCode != http.StatusNotModified {
		t.Errorf("with an Etag: %s", again.Status)
	}
	old, _ := fetch(t, h, get("/openapi/v3/apis/batch/v1?hash=OLD", ""))
	if old.StatusCode != http.StatusMovedPermanently || old.Header.Get("Location") != at {
		t.Errorf("with an old hash: %s to %s", old.Status, old.Header.Get("Location"))
	}
}

func TestOpenAPIv2AsClientsReadIt(t *testing.T) {
	doc, err := kubernetes.NewForConfigOrDie(newHandler().Config()).Discovery().OpenAPISchema()
	must(t, err)
	if n := len(doc.GetDefinitions().GetAdditionalProperties()); n < 300 {
		t.Errorf("%d definitions", n)
	}
}
