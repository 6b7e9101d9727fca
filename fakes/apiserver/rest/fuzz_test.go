package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// wellFormed fails the test unless an answer is what a real server could give: no
// panic, and a Status in whatever is no success.
func wellFormed(t *testing.T, r *http.Request) {
	t.Helper()
	rec := httptest.NewRecorder()
	newHandler().ServeHTTP(rec, r)
	body := rec.Body.String()
	switch {
	case rec.Code == http.StatusInternalServerError && strings.Contains(body, "panic while answering"):
		t.Fatalf("%s %s: %s", r.Method, r.URL, body)
	case rec.Code < 400, rec.Header().Get("Content-Type") != runtime.ContentTypeJSON:
		return
	}
	var status metav1.Status
	if err := json.Unmarshal(rec.Body.Bytes(), &status); err != nil || status.Kind != "Status" || int(status.Code) != rec.Code {
		t.Fatalf("%s %s: %d is no Status: %v: %.300s", r.Method, r.URL, rec.Code, err, body)
	}
}

// send makes a request with a body of any content.
func send(t *testing.T, method, path, contentType string, body []byte) {
	t.Helper()
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	wellFormed(t, r)
}

// kindPaths are collections of kinds with much in them.
var kindPaths = []string{
	maps, "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/services", "/apis/apps/v1/namespaces/default/deployments",
	"/apis/coordination.k8s.io/v1/namespaces/default/leases", "/api/v1/nodes", crds,
}

func pick(n uint8) string { return kindPaths[int(n)%len(kindPaths)] }

func FuzzBodiesInJSON(f *testing.F) {
	for _, s := range []string{
		`{"metadata":{"name":"a"},"data":{"k":"v"}}`, `[]`, `null`, `{"metadata":null}`, `{"metadata":{"labels":{"a":1}}}`,
		`{"metadata":{"name":"a","ownerReferences":[{}]},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1e99"}}}]}}`,
		`{"metadata":{"name":"a","creationTimestamp":"x"}}`, `{"metadata":{"name":"a"},"metadata":{"name":"b"}}`,
	} {
		f.Add(uint8(0), []byte(s))
		f.Add(uint8(1), []byte(s))
	}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		send(t, "POST", pick(kind)+"?fieldValidation=Strict", "application/json", body)
		send(t, "DELETE", pick(kind)+"/a", "application/json", body)
	})
}

func FuzzBodiesInYAML(f *testing.F) {
	f.Add(uint8(0), []byte("metadata:\n  name: a\ndata: {k: v}\n"))
	f.Add(uint8(1), []byte("metadata: &m {name: y}\nspec: *m\n"))
	f.Add(uint8(2), []byte("--- !!binary\n"))
	f.Add(uint8(3), []byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		send(t, "POST", pick(kind), "application/yaml", body)
		send(t, "DELETE", pick(kind)+"/a", "application/yaml", body)
	})
}

func FuzzBodiesInProtobuf(f *testing.F) {
	var pod bytes.Buffer
	obj := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := protobufserializer.NewSerializer(clientscheme.Scheme, clientscheme.Scheme).Encode(obj, &pod); err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(1), pod.Bytes())
	f.Add(uint8(0), pod.Bytes())
	f.Add(uint8(6), []byte(nestedSchema(3)))
	f.Add(uint8(6), []byte(nestedSchema(20_000)))
	f.Add(uint8(0), []byte("k8s\x00"))
	f.Add(uint8(0), []byte("k8s\x00\x0a\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		send(t, "POST", pick(kind), runtime.ContentTypeProtobuf, body)
		send(t, "POST", "/api/v1/namespaces/default/pods/a/eviction", runtime.ContentTypeProtobuf, body)
		send(t, "DELETE", pick(kind)+"/a", runtime.ContentTypeProtobuf, body)
	})
}

func FuzzPatches(f *testing.F) {
	types := []string{
		"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
		"application/apply-patch+yaml", "application/apply-patch+cbor", "",
	}
	f.Add(uint8(0), []byte(`[{"op":"move","from":"/metadata","path":"/metadata/name"}]`))
	f.Add(uint8(0), []byte(`[{"op":"add","path":"/-1/~2"},{"op":"copy"},{}]`))
	f.Add(uint8(1), []byte(`{"metadata":{"name":null,"labels":{"a":null}}}`))
	f.Add(uint8(2), []byte(`{"$patch":"replace","metadata":{"finalizers":[1],"$setElementOrder/finalizers":["a"]}}`))
	f.Add(uint8(3), []byte("apiVersion: v1\nkind: Namespace\n"))
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		send(t, "PATCH", "/api/v1/namespaces/default?fieldManager=f", types[int(kind)%len(types)], body)
	})
}

func FuzzQueries(f *testing.F) {
	for _, q := range []string{
		"limit=-1&continue=x", "labelSelector=a in (b", "fieldSelector=metadata.name=", "resourceVersion=1&resourceVersionMatch=Exact",
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "watch=1&timeoutSeconds=1&sendInitialEvents=true",
		"dryRun=x&fieldManager=" + strings.Repeat("m", 200), "pretty=%", "includeObject=None", "%zz", "a=b;c=d",
	} {
		f.Add(q, "application/json;as=Table;g=meta.k8s.io;v=v1")
	}
	f.Fuzz(func(t *testing.T, query, accept string) {
		if strings.Contains(query, "watch") {
			query += "&timeoutSeconds=1" // cancelled below before that
		}
		for _, method := range []string{"GET", "POST", "DELETE"} {
			r := httptest.NewRequest(method, maps, nil)
			r.URL.RawQuery = query
			r.Header.Set("Accept", accept)
			if wantsWatch(r.URL.Query()) && method == "GET" {
				continue // would wait for events
			}
			wellFormed(t, r)
		}
	})
}

func wantsWatch(q url.Values) bool {
	_, ok := q["watch"]
	return ok
}

func FuzzPaths(f *testing.F) {
	for _, path := range []string{
		"/api/v1/namespaces/default/pods/a/status", "/api/v1/namespaces//pods", "/apis/apps/v1/deployments/a", "//", "/api/v1/watch",
		"/api/v1/watch/namespaces/x/pods/", "/openapi/v3/apis/../..", "/apis/apps", "/healthz/x", "/api/v1/namespaces/x/finalize",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if strings.Contains(path, "watch") || strings.Contains(path, "openapi/v2") {
			return // waits for events; takes long
		}
		for _, method := range []string{"GET", "PUT", "HEAD"} {
			r := httptest.NewRequest(method, "/", nil)
			r.URL.Path = path
			wellFormed(t, r)
		}
	})
}
