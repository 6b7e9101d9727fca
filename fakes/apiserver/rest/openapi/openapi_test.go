package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	record = flag.String("record", "", "record the documents of the real API server at this URL")
	token  = flag.String("token", "", "bearer token for -record")
)

// notRecorded are groups that no fake server serves.
var notRecorded = []string{
	".well-known", "openid", "logs", "apis/apiregistration", "apis/flowcontrol", "apis/internal", "apis/resource.", "apis/storagemigration",
}

// TestRecord writes the recorded documents anew. It is how `make record-openapi`
// does it, and does nothing without -record.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("writes the recorded documents anew: make record-openapi runs it against a real server")
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	must(t, json.Unmarshal(fetch(t, "/openapi/v3"), &index))
	documents := map[string][]byte{}
next:
	for name, at := range index.Paths {
		for _, prefix := range notRecorded {
			if strings.HasPrefix(name, prefix) {
				continue next
			}
		}
		documents[name] = fetch(t, at.ServerRelativeURL)
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(t, err)
	must(t, Pack(w, documents))
	must(t, w.Close())
	a, err := unpack(out.Bytes())
	must(t, err)
	size := 0
	for name, want := range documents {
		size += len(want)
		if diff := cmp.Diff(parse(t, want), parse(t, a.assemble(a.documents[name], nil))); diff != "" {
			t.Fatalf("%s changes when it is packed (-want +got):\n%.2000s", name, diff)
		}
	}
	must(t, os.WriteFile("documents.gz", out.Bytes(), 0o644))
	t.Logf("%d documents of %d bytes in %d bytes", len(documents), size, out.Len())
}

func fetch(t *testing.T, path string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, *record+path, nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+*token)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // a server of our own
	resp, err := client.Do(r)
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("get %s: %s: %.200s", path, resp.Status, data)
	}
	return data
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, data []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(fmt.Errorf("%w in %.200s", err, data))
	}
	return v
}

// TestPackingLosesNothing packs documents that share much, and unpacks them.
func TestPackingLosesNothing(t *testing.T) {
	const shared = `{"type":"object","description":"said more than once, and rather long","properties":{"a":{"type":"string","description":"also within another"}}}`
	documents := map[string][]byte{
		"api/v1": []byte(`{"openapi":"3.0.0","info":{"title":"T"},"paths":{"/api/v1/pods":` + shared + `},` +
			`"components":{"schemas":{"A":` + shared + `,"B":{"x":[` + shared + `,1.50,null,true]}},"securitySchemes":{"Token":{"type":"apiKey"}}}}`),
		"apis":       []byte(`{"openapi":"3.0.0","info":{"title":"T"},"paths":{"/apis/":` + shared + `}}`),
		"apis/g/v1":  []byte(`{"openapi":"3.0.0","components":{"schemas":{"A":` + shared + `}}}`),
		"apis/empty": []byte(`{"openapi":"3.0.0","paths":{}}`),
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must(t, Pack(w, documents))
	must(t, w.Close())
	a, err := unpack(out.Bytes())
	must(t, err)
	for name, want := range documents {
		wanted, got := parse(t, want), parse(t, a.assemble(a.documents[name], nil))
		if wanted["paths"] == nil {
			wanted["paths"] = map[string]any{}
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if n := len(a.parts); n == 0 {
		t.Error("nothing is shared")
	}
}

func TestPathsThatAreNotServedAreLeftOut(t *testing.T) {
	data, err := Document("apis/apps/v1", func(path string) bool { return strings.Contains(path, "/deployments") })
	must(t, err)
	paths := parse(t, data)["paths"].(map[string]any)
	for path := range paths {
		if !strings.Contains(path, "/deployments") {
			t.Errorf("%s is still there", path)
		}
	}
	if len(paths) == 0 {
		t.Error("nothing is left")
	}
}

// TestVersion2 checks what clients of the old version look at: definitions, how
// lists are merged, and which parameters a patch takes.
func TestVersion2(t *testing.T) {
	core, err := Document("api/v1", nil)
	must(t, err)
	apps, err := Document("apis/apps/v1", nil)
	must(t, err)
	data, err := V2([][]byte{core, apps})
	must(t, err)
	if *record != "" {
		compareV2(t)
	}
	doc := parse(t, data)
	at := func(path ...string) any {
		var v any = doc
		for _, name := range path {
			v = asMap(v)[name]
		}
		return v
	}
	containers := at("definitions", "io.k8s.api.core.v1.PodSpec", "properties", "containers")
	want := map[string]any{
		"description": asMap(containers)["description"], "type": "array",
		"items":                  map[string]any{"$ref": "#/definitions/io.k8s.api.core.v1.Container"},
		"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"},
		"x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
	}
	if diff := cmp.Diff(want, containers); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if got := at("definitions", "io.k8s.apimachinery.pkg.api.resource.Quantity", "type"); got != "string" {
		t.Errorf("a quantity is a %v", got)
	}
	// A schema that is in both documents is of the kinds that either says.
	if n := len(asList(at("definitions", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", kinds))); n < 2 {
		t.Errorf("DeleteOptions is of %d kinds", n)
	}
	names := map[any]bool{}
	for _, p := range asList(at("paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "patch", "parameters")) {
		names[asMap(p)["name"]] = true
	}
	for _, name := range []string{"body", "dryRun", "fieldManager", "fieldValidation", "force"} {
		if !names[name] {
			t.Errorf("a patch takes no %s: %v", name, names)
		}
	}
	if _, err := V2Protobuf(data); err != nil {
		t.Error(err)
	}
}

// compareV2 compares all definitions with those of the server that is recorded.
func compareV2(t *testing.T) {
	t.Helper()
	a, err := recorded()
	must(t, err)
	var all [][]byte
	for _, doc := range a.documents {
		all = append(all, a.assemble(doc, nil))
	}
	ours, err := V2(all)
	must(t, err)
	got, want := asMap(parse(t, ours)["definitions"]), asMap(parse(t, fetch(t, "/openapi/v2"))["definitions"])
	for name, definition := range got {
		delete(asMap(definition), kinds) // of groups that are not recorded, too
		delete(asMap(want[name]), kinds)
		if diff := cmp.Diff(want[name], definition); diff != "" {
			t.Errorf("%s (-real +got):\n%s", name, diff)
		}
	}
	t.Logf("%d definitions agree", len(got))
}

func TestProtobuf(t *testing.T) {
	doc, err := Document("apis/coordination.k8s.io/v1", nil)
	must(t, err)
	data, err := V3Protobuf(doc)
	must(t, err)
	if len(data) < 10_000 {
		t.Errorf("the document has %d bytes", len(data))
	}
}
