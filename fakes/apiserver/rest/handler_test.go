package rest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
)

const maps = "/api/v1/namespaces/default/configmaps"

// do makes a request and returns code, content type and body.
func do(t *testing.T, h http.RoundTripper, method, path, accept, contentType, body string) (int, string, string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://x"+path, strings.NewReader(body))
	r.Header.Set("Accept", accept)
	r.Header.Set("Content-Type", contentType)
	resp, err := h.RoundTrip(r)
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(data)
}

func TestBodies(t *testing.T) {
	h := newHandler()
	for name, tc := range map[string]struct {
		contentType, body string
		code              int
	}{
		"JSON":                {"application/json", `{"metadata":{"name":"json"}}`, 201},
		"JSON with a charset": {"application/json; charset=utf-8", `{"metadata":{"name":"charset"}}`, 201},
		"no content type":     {"", `{"metadata":{"name":"none"}}`, 201},
		"YAML":                {"application/yaml", "metadata:\n  name: yaml\n", 201},
		"XML":                 {"application/xml", "<a/>", 415},
		"as large as may be":  {"application/json", `{"metadata":{"name":"large"}}` + strings.Repeat(" ", 3<<20-29), 201},
		"too large":           {"application/json", `{"metadata":{"name":"large"}}` + strings.Repeat(" ", 3<<20), 413},
	} {
		if code, _, answer := do(t, h, "POST", maps, "", tc.contentType, tc.body); code != tc.code {
			t.Errorf("%s: got %d, want %d: %.200s", name, code, tc.code, answer)
		}
	}
}

func TestAnswersInYAMLAndTables(t *testing.T) {
	h := newHandler()
	do(t, h, "POST", maps, "", "", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	_, kind, body := do(t, h, "GET", maps+"/a", "application/yaml", "", "")
	if kind != "application/yaml" || !strings.Contains(body, "kind: ConfigMap\n") || !strings.Contains(body, "data:\n  k: v\n") {
		t.Errorf("YAML (%s):\n%s", kind, body)
	}
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	_, _, body = do(t, h, "GET", maps+"?includeObject=None", table, "", "")
	var got struct {
		Kind string
		Rows []struct{ Cells []any }
	}
	must(t, json.Unmarshal([]byte(body), &got))
	if got.Kind != "Table" || len(got.Rows) != 1 || got.Rows[0].Cells[0] != "a" || got.Rows[0].Cells[1] != 1.0 {
		t.Errorf("table: %s", body)
	}
	code, _, _ := do(t, h, "GET", maps+"?includeObject=Some", table, "", "")
	if code != 400 {
		t.Errorf("a wrong includeObject: got %d, want 400", code)
	}
}

func TestHeaders(t *testing.T) {
	h := newHandler()
	const twice = `{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"o","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"o","uid":"u"}]}}`
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, maps, strings.NewReader(twice)))
	if w := rec.Header().Get("Warning"); !strings.HasPrefix(w, `299 - ".metadata.ownerReferences contains duplicate entries`) {
		t.Errorf("warning is %s", w)
	}
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, maps+"?resourceVersion=999999", nil))
	if rec.Code != http.StatusGatewayTimeout || rec.Header().Get("Retry-After") != "1" {
		t.Errorf("future read: %d, retry after %q", rec.Code, rec.Header().Get("Retry-After"))
	}
}

func TestTokens(t *testing.T) {
	server := apiserver.New(apiserver.Options{RBAC: true})
	h := rest.New(server, rest.WithTokens(map[string]*apiserver.User{"root": nil, "bob": {Name: "bob"}}))
	for token, want := range map[string]int{"root": 200, "bob": 403, "": 403, "guess": 401} {
		r := httptest.NewRequest(http.MethodGet, maps, nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != want {
			t.Errorf("token %q: got %d, want %d", token, rec.Code, want)
		}
	}
}

// TestWatchOverASocket reads events as they come, line by line.
func TestWatchOverASocket(t *testing.T) {
	h := newHandler()
	socket := httptest.NewServer(h)
	defer socket.Close()
	resp, err := http.Get(socket.URL + maps + "?watch=true")
	must(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, name := range []string{"a", "b"} {
		do(t, h, "POST", maps, "", "", `{"metadata":{"name":"`+name+`"}}`)
		if !lines.Scan() {
			t.Fatalf("the watch ended: %v", lines.Err())
		}
		var ev struct {
			Type   string
			Object struct {
				Kind     string
				Metadata struct{ Name string }
			}
		}
		must(t, json.Unmarshal(lines.Bytes(), &ev))
		if ev.Type != "ADDED" || ev.Object.Kind != "ConfigMap" || ev.Object.Metadata.Name != name {
			t.Errorf("event is %s", lines.Text())
		}
	}
}

func TestAWatchOfWhatIsDeprecatedWarns(t *testing.T) {
	socket := httptest.NewServer(newHandler())
	defer socket.Close()
	resp, err := http.Get(socket.URL + "/api/v1/namespaces/default/endpoints?watch=true")
	must(t, err)
	defer resp.Body.Close()
	want := `299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"`
	if got := resp.Header.Get("Warning"); got != want {
		t.Errorf("warning %q, want %q", got, want)
	}
}

func TestIdleWatchesGetBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler()
		rec := httptest.NewRecorder()
		start := time.Now()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, maps+"?watch=true&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=150", nil))
		var types []string
		for _, line := range strings.Split(strings.TrimSpace(rec.Body.String()), "\n") {
			var ev struct{ Type string }
			must(t, json.Unmarshal([]byte(line), &ev))
			types = append(types, ev.Type)
		}
		if diff := cmp.Diff([]string{"BOOKMARK", "BOOKMARK"}, types); diff != "" || time.Since(start) != 150*time.Second {
			t.Errorf("after %v (-want +got):\n%s", time.Since(start), diff)
		}
	})
}
