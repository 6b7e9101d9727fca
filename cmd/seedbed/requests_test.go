package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

// TestRequests makes plain HTTP requests of seedbed serve and of a real
// kube-apiserver: every verb on paths that exist, that do not, and that are no
// resources, in every format that somebody may ask for. Both answer the same.
func TestRequests(t *testing.T) {
	if os.Getenv("SEEDBED_TEST_REAL") == "" {
		t.Skip("needs a real kube-apiserver, which make test-real builds and starts (SEEDBED_TEST_REAL is not set)")
	}
	authentic, err := testenv.Start(t.Context(), testenv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := authentic.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := comparison{theirs: plainClient(t, authentic.Kubeconfig()), ours: plainClient(t, serving(t, "--bare", "--nodes", "0").kubeconfig)}
	c.define(t)
	for _, path := range requestPaths {
		for _, verb := range requestVerbs {
			for _, format := range requestFormats {
				c.compare(t, &plainRequest{verb: verb, path: path, accept: format, contentType: "application/json", body: "{}"})
			}
		}
	}
	for _, to := range bodyTargets {
		for _, kind := range bodyTypes {
			if kind == runtime.ContentTypeProtobuf && strings.Contains(to.path, "example.com") {
				continue // a real server panics
			}
			for _, body := range bodies {
				c.compare(t, &plainRequest{verb: to.verb, path: to.path, contentType: kind, body: body})
			}
		}
	}
	t.Logf("%d of %d requests are answered the same", c.same, c.requests)
}

// comparison asks two servers the same.
type comparison struct {
	theirs, ours   *httpClient
	requests, same int
}

// define makes a kind of custom resources on both servers, and waits for it.
func (c *comparison) define(t *testing.T) {
	t.Helper()
	for _, client := range []*httpClient{c.theirs, c.ours} {
		client.ask(t, &plainRequest{verb: http.MethodPost, path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", contentType: "application/json", body: widgetDefinition})
		there := func() bool {
			return strings.HasPrefix(client.ask(t, &plainRequest{verb: http.MethodGet, path: "/apis/example.com/v1/namespaces/default/widgets"}), "200") &&
				strings.HasPrefix(client.ask(t, &plainRequest{verb: http.MethodGet, path: "/apis/example.com/v1"}), "200")
		}
		for tries := 0; !there(); tries++ {
			if tries == patience {
				t.Fatalf("%s does not serve the kind that was defined", client.url)
			}
			time.Sleep(time.Second)
		}
	}
}

const widgetDefinition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
	"spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{
		"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
		"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}, "status": {"type": "object"}}}}
	}]}
}`

func (c *comparison) compare(t *testing.T, r *plainRequest) {
	t.Helper()
	c.requests++
	want, got := c.theirs.ask(t, r), c.ours.ask(t, r)
	if want == got {
		c.same++
		return
	}
	t.Errorf("%s (-real +ours):\n%s", r, cmp.Diff(want, got))
}

// What a body may be sent to, as what, and what may be in it.
var (
	bodyTargets = []struct{ verb, path string }{
		{http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All"},
		{http.MethodPut, "/api/v1/namespaces/default/configmaps/none?dryRun=All&fieldValidation=Strict"},
		{http.MethodPatch, "/api/v1/namespaces/default/configmaps/none?dryRun=All"},
		{http.MethodDelete, "/api/v1/namespaces/default/configmaps/none?dryRun=All"},
		{http.MethodDelete, "/api/v1/namespaces/default/configmaps?dryRun=All"},
		{http.MethodPost, "/apis/example.com/v1/namespaces/default/widgets?dryRun=All&fieldValidation=Strict"},
		{http.MethodPut, "/apis/example.com/v1/namespaces/default/widgets/none?dryRun=All"},
		{http.MethodPatch, "/apis/example.com/v1/namespaces/default/widgets/none?dryRun=All"},
		{http.MethodDelete, "/apis/example.com/v1/namespaces/default/widgets/none?dryRun=All"},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews"},
		{http.MethodPost, "/api/v1/namespaces/default/pods/none/eviction?dryRun=All"},
		{http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/none/token?dryRun=All"},
		{http.MethodPut, "/apis/apps/v1/namespaces/default/deployments/none/scale?dryRun=All"},
	}
	bodyTypes = []string{
		"", "application/json", "application/json; charset=utf-8", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", "nonsense", ";",
		"application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml",
	}
	bodies = []string{
		"", "{}", "[]", "null", "1", `"x"`, "{", "}", "{}{}", "a: b", "a: [", "\xff\xfe", "k8s\x00", "k8s\x00\x0a\x00", "\t", `{"kind": 1}`, `{"metadata": []}`, `{"metadata": {"name": 1}}`,
		`{"apiVersion": "v1", "kind": "Pod"}`, `{"apiVersion": "v9", "kind": "ConfigMap"}`, `{"kind": "ConfigMap"}`, `{"apiVersion": "v1"}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "none"}, "data": {"a": 1}}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "none"}, "extra": 1, "data": {"a": "b", "a": "c"}}`,
		`{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "none", "extra": 1}, "spec": {"a": 1, "b": 2}}`,
		`{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "none"}, "spec": {"a": "x", "a": "y"}, "more": []}`,
		`{"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": "x"}`, `{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "x", "extra": 1}`,
		`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "other"}}`, `{"spec": {"expirationSeconds": 1}}`, `{"spec": {"replicas": -1}}`, `{"spec": {"user": "x"}}`,
	}
)

var (
	requestVerbs = []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
	requestPaths = []string{
		"/", "/api", "/api/", "/apis", "/apis/", "/api/v1", "/api/v1/", "/api/v2", "/apis/apps", "/apis/apps/", "/apis/apps/v1",
		"/apis/apps/v9", "/apis/none.example.com", "/apis/none.example.com/v1", "/apis/none.example.com/v1/things",
		"/version", "/version/", "/healthz", "/livez", "/readyz", "/healthz/", "/healthz/ping", "/livez/ping", "/readyz/ping", "/livez/none",
		"/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openapi/v3/api/v1", "/openapi/v3/none", "/openapi/none", "/none", "/apisx", "/apiv1",
		"/api/v1/namespaces", "/api/v1/namespaces/", "/api/v1/namespaces/none", "/api/v1/namespaces/none/things", "/api/v1/namespaces/default/pods/none",
		"/api/v1/namespaces/default/pods/none/status", "/api/v1/namespaces/default/pods/none/things", "/api/v1/namespaces/default/pods/none/status/more",
		"/api/v1/pods", "/api/v1/pods/none", "/api/v1/nodes/none", "/api/v1/nodes/none/status", "/api/v1/things",
		"/apis/apps/v1/namespaces/default/deployments/none/scale", "/apis/example.com", "/apis/example.com/v1", "/apis/example.com/v2",
		"/apis/example.com/v1/widgets", "/apis/example.com/v1/things", "/apis/example.com/v1/widgets/none", "/apis/example.com/v1/namespaces/default/widgets",
		"/apis/example.com/v1/namespaces/default/widgets/none", "/apis/example.com/v1/namespaces/default/widgets/none/status", "/apis/example.com/v1/namespaces/default/widgets/none/scale",
		"/apis/example.com/v1/namespaces/default/widgets/none/status/more", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		"/api/v1/namespaces/default/pods?limit=x", "/api/v1/namespaces/default/pods?labelSelector=a%3D%3D%3Db", "/api/v1/namespaces/default/pods?fieldSelector=none%3Da",
		"/api/v1/namespaces/default/pods?resourceVersion=x", "/api/v1/namespaces/default/pods?timeoutSeconds=x", "/api/v1/namespaces/default/pods?allowWatchBookmarks=x",
		"/api/v1/namespaces/default/pods?dryRun=x", "/api/v1/namespaces/default/pods?fieldManager=%01", "/api/v1/namespaces/default/pods?pretty=x",
	}
	requestFormats = []string{
		"", "*/*", "application/*", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
		"text/html", "text/plain", "application/xml", "application/json;as=Table;g=meta.k8s.io;v=v1",
		"application/json;as=Nothing;g=meta.k8s.io;v=v1", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "image/png, application/yaml;q=0.5", "nonsense",
	}
)

// httpClient makes plain requests of one server.
type httpClient struct {
	url  string
	http *http.Client
}

func plainClient(t *testing.T, kubeconfig string) *httpClient {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &httpClient{url: config.Host, http: client}
}

// plainRequest is one request.
type plainRequest struct {
	verb, path, accept, contentType, body string
}

func (r *plainRequest) String() string {
	text := fmt.Sprintf("%s %s with %q as %q", r.verb, r.path, r.body, r.contentType)
	if r.accept != "" {
		text += ", wanting " + r.accept
	}
	return text
}

// ask returns what a request is answered, without what differs from run to run.
func (c *httpClient) ask(t *testing.T, r *plainRequest) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.verb, c.url+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": r.accept, "Content-Type": r.contentType} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	answer, err := c.http.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", r, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s: %v", r, err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, answer.StatusCode)
	for _, name := range []string{"Content-Type", "Allow", "Location", "Warning", "Retry-After"} {
		for _, value := range answer.Header.Values(name) {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if answer.StatusCode >= http.StatusBadRequest {
		b.WriteString(settle(string(body)))
	}
	return b.String()
}
