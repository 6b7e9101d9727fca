package rest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("a body that says that it is too large is read")
	return 0, io.EOF
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	h := newHandler()
	r := httptest.NewRequest(http.MethodPost, maps, unread{t})
	r.ContentLength = 4 << 20
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	if rec.Code != 413 || !strings.Contains(rec.Body.String(), "Request entity too large: limit is 3145728") {
		t.Errorf("announced: %d %s", rec.Code, rec.Body)
	}
	endless := &counted{}
	r = httptest.NewRequest(http.MethodPatch, maps+"/a", endless)
	r.Header.Set("Content-Type", "application/merge-patch+json")
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	if rec.Code != 413 || endless.n > 4<<20 {
		t.Errorf("endless: %d after %d bytes", rec.Code, endless.n)
	}
}

// counted never ends.
type counted struct{ n int }

func (c *counted) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	c.n += len(p)
	return len(p), nil
}

// TestDeeplyNestedBodies are refused, whatever they are: none may exhaust the
// stack, which no recover would catch.
func TestDeeplyNestedBodies(t *testing.T) {
	h := newHandler()
	const depth = 1_000_000
	inner := strings.Repeat("[", depth)
	for name, tc := range map[string]struct{ method, path, contentType, body string }{
		"JSON":           {"POST", maps, "application/json", `{"metadata":{"name":"a"},"data":` + inner},
		"JSON, unknown":  {"POST", maps, "application/json", `{"metadata":{"name":"a"},"x":` + inner + strings.Repeat("]", depth) + `}`},
		"YAML":           {"POST", maps, "application/yaml", "metadata: {name: a}\ndata: " + inner},
		"JSON patch":     {"PATCH", maps + "/a", "application/json-patch+json", `[{"op":"add","path":"/data","value":` + inner + strings.Repeat("]", depth) + `}]`},
		"merge patch":    {"PATCH", maps + "/a", "application/merge-patch+json", `{"data":` + strings.Repeat(`{"a":`, depth/4) + "1" + strings.Repeat("}", depth/4) + `}`},
		"protobuf":       {"POST", crds, "application/vnd.kubernetes.protobuf", nestedSchema(depth / 2)},
		"delete options": {"DELETE", maps + "/a", "application/json", `{"kind":"DeleteOptions","x":` + inner},
	} {
		if name == "JSON patch" || name == "merge patch" {
			do(t, h, "POST", maps, "", "", `{"metadata":{"name":"a"}}`)
		}
		code, kind, body := do(t, h, tc.method, tc.path, "", tc.contentType, tc.body)
		if code < 400 || code >= 500 || kind != "application/json" {
			t.Errorf("%s: %d %s %.200s", name, code, kind, body)
		}
	}
}

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// nestedSchema is a definition in protobuf whose schema is the negation of a schema
// that is, and so on: the only kind with messages of any depth.
func nestedSchema(depth int) string {
	const not = 28
	heads, size := make([][]byte, depth), 0
	for i := range heads {
		heads[i] = binary.AppendUvarint(binary.AppendUvarint(nil, not<<3|2), uint64(size))
		size += len(heads[i])
	}
	schema := make([]byte, 0, size)
	for _, head := range slices.Backward(heads) {
		schema = append(schema, head...)
	}
	field := func(number uint64, content []byte) []byte {
		out := binary.AppendUvarint(binary.AppendUvarint(nil, number<<3|2), uint64(len(content)))
		return append(out, content...)
	}
	version := append(field(1, []byte("v1")), field(4, field(1, schema))...)
	kind := append(field(1, []byte("apiextensions.k8s.io/v1")), field(2, []byte("CustomResourceDefinition"))...)
	return "k8s\x00" + string(field(1, kind)) + string(field(2, field(2, field(7, version))))
}

// TestNestingThatIsAllowed is refused for what it says, not for its depth.
func TestNestingThatIsAllowed(t *testing.T) {
	code, _, body := do(t, newHandler(), "POST", crds, "", "application/vnd.kubernetes.protobuf", nestedSchema(9_900))
	if code != 422 || !strings.Contains(body, "spec.validation.openAPIV3Schema.type: Required value") {
		t.Errorf("%d %.300s", code, body)
	}
	code, _, body = do(t, newHandler(), "POST", crds, "", "application/vnd.kubernetes.protobuf", nestedSchema(10_000))
	if code != 400 || !strings.Contains(body, "exceeded max depth") {
		t.Errorf("%d %.300s", code, body)
	}
}

// TestBombsOfAliases: a small YAML document that would be a huge object.
func TestBombsOfAliases(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	code, _, body := do(t, newHandler(), "POST", maps, "", "application/yaml", bomb.String())
	if code != 400 {
		t.Errorf("%d %.200s", code, body)
	}
}

// TestAPanicIsA500 and the server goes on.
func TestAPanicIsA500(t *testing.T) {
	store := apiserver.NewStore(apiserver.Options{})
	store.Hook(admission.Hook{
		Name:   "faulty.example.com",
		Match:  admission.Match{Operations: []admission.Operation{"*"}, Groups: []string{"*"}, Versions: []string{"*"}, Resources: []string{"configmaps"}},
		Mutate: func(*admission.Review) admission.Answer { panic("a secret") },
	})
	h := rest.New(apiserver.NewServer(store, "test"))
	code, _, body := do(t, h, "POST", maps, "", "", `{"metadata":{"name":"a"}}`)
	if code != 500 || !strings.Contains(body, `"reason":"InternalError"`) || strings.Contains(body, "a secret") {
		t.Errorf("%d %s", code, body)
	}
	if code, _, _ = do(t, h, "GET", maps, "", "", ""); code != 200 {
		t.Errorf("afterwards: %d", code)
	}
}

// TestOddRequests checks code and media type of what no client should ask.
func TestOddRequests(t *testing.T) {
	h := newHandler()
	for _, tc := range []struct {
		method, path, accept, contentType string
		code                              int
		kind                              string
	}{
		{"HEAD", maps, "", "", 405, "application/json"},
		{"OPTIONS", maps, "", "", 405, "application/json"},
		{"POST", maps + "/a", "", "", 405, "application/json"},
		{"GET", "/", "", "", 200, "application/json"},
		{"GET", "/nope", "", "", 404, "text/plain; charset=utf-8"},
		{"GET", "/api/v2", "", "", 404, "application/json"},
		{"GET", "/api//pods", "", "", 404, "application/json"},
		{"GET", "/apis/apps/v9/deployments", "", "", 404, "application/json"},
		{"GET", "/metrics", "", "", 501, "application/json"},
		{"GET", "/livez/ping", "", "", 200, "text/plain; charset=utf-8"},
		{"GET", "/livez/nope", "", "", 404, "text/plain; charset=utf-8"},
		{"GET", "/readyz?verbose", "", "", 200, "text/plain; charset=utf-8"},
		{"GET", maps, "application/cbor", "", 406, "application/json"},
		{"GET", maps + "?watch=true", "application/yaml", "", 406, "application/yaml"},
		{"GET", "/openapi/v3/api/v1", "text/html", "", 406, ""},
		{"POST", maps, "", "application/cbor", 415, "application/json"},
		{"POST", maps, "", ";;;", 415, "application/json"},
		{"PATCH", maps + "/a", "", "application/json", 415, "application/json"},
		{"GET", maps + "?limit=many", "", "", 400, "application/json"},
		{"GET", maps + "?" + strings.Repeat("a=b&", 100_000), "", "", 200, "application/json"},
		{"GET", maps + "?labelSelector=%ff%fe", "", "", 400, "application/json"},
		{"GET", maps + "?x=%zz&;=;", "", "", 200, "application/json"},
		{"GET", maps + "/%2e%2e%2f%00", "", "", 404, "application/json"},
	} {
		code, kind, body := do(t, h, tc.method, tc.path, tc.accept, tc.contentType, "")
		if code != tc.code || kind != tc.kind {
			t.Errorf("%s %.60s: %d %q, want %d %q: %.300s", tc.method, tc.path, code, kind, tc.code, tc.kind, body)
		}
	}
}

func TestHealthInDetail(t *testing.T) {
	_, _, body := do(t, newHandler(), "GET", "/livez?verbose&exclude=log", "", "", "")
	if want := "[+]ping ok\n[+]log excluded: ok\n[+]etcd ok\nlivez check passed\n"; body != want {
		t.Errorf("got %q, want %q", body, want)
	}
}

// TestLargeAnswersAreCompressed for clients that take that.
func TestLargeAnswersAreCompressed(t *testing.T) {
	h := newHandler()
	for i := range 3 {
		do(t, h, "POST", maps, "", "", fmt.Sprintf(`{"metadata":{"name":"a%d"},"data":{"k":%q}}`, i, strings.Repeat("v", 60_000)))
	}
	socket := httptest.NewServer(h)
	defer socket.Close()
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	for _, tc := range []struct {
		path, accept, encoding string
	}{
		{maps, "gzip", "gzip"},
		{maps, "deflate, gzip;q=0.5", "gzip"},
		{maps, "", ""},
		{maps + "/a1", "gzip", ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, socket.URL+tc.path, nil)
		must(t, err)
		if tc.accept != "" {
			r.Header.Set("Accept-Encoding", tc.accept)
		}
		resp, err := plain.Do(r)
		must(t, err)
		data, err := io.ReadAll(resp.Body)
		must(t, errors.Join(err, resp.Body.Close()))
		if got := resp.Header.Get("Content-Encoding"); got != tc.encoding || tc.encoding == "gzip" && len(data) > 10_000 {
			t.Errorf("%s with %q: encoded as %q, %d bytes", tc.path, tc.accept, got, len(data))
		}
	}
}
