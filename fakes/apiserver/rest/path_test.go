package rest

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestParseTarget(t *testing.T) {
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	for path, want := range map[string]target{
		"/api/v1/pods":                              {resource: core("pods")},
		"/api/v1/namespaces":                        {resource: core("namespaces")},
		"/api/v1/namespaces/n":                      {resource: core("namespaces"), name: "n"},
		"/api/v1/namespaces/n/status":               {resource: core("namespaces"), name: "n", subresource: "status"},
		"/api/v1/namespaces/n/finalize":             {resource: core("namespaces"), name: "n", subresource: "finalize"},
		"/api/v1/namespaces/n/pods":                 {resource: core("pods"), namespace: "n"},
		"/api/v1/namespaces/n/pods/":                {resource: core("pods"), namespace: "n"},
		"/api/v1/namespaces/n/pods/a/log":           {resource: core("pods"), namespace: "n", name: "a", subresource: "log"},
		"/api/v1/namespaces/n/services/a/proxy/x/y": {resource: core("services"), namespace: "n", name: "a", subresource: "proxy", rest: "x/y"},
		"/api/v1/watch/namespaces/n/pods":           {resource: core("pods"), namespace: "n", watch: true},
		"/apis/apps/v1/namespaces/n/deployments/a/scale": {
			resource:  schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			namespace: "n", name: "a", subresource: "scale",
		},
	} {
		got, ok := parseTarget(path)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); !ok || diff != "" {
			t.Errorf("%s: found %v (-want +got):\n%s", path, ok, diff)
		}
	}
	for _, path := range []string{"/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/api/v1//pods/a"} {
		if got, ok := parseTarget(path); ok {
			t.Errorf("%s: names no resource, but got %+v", path, got)
		}
	}
}

func TestVerbs(t *testing.T) {
	collection, object, sub := target{}, target{name: "a"}, target{name: "a", subresource: "status"}
	for _, tc := range []struct {
		at     target
		method string
		watch  bool
		want   apiserver.Verb
	}{
		{collection, http.MethodGet, false, apiserver.List},
		{collection, http.MethodGet, true, apiserver.WatchVerb},
		{collection, http.MethodPost, false, apiserver.Create},
		{collection, http.MethodDelete, false, apiserver.DeleteCollection},
		{collection, http.MethodPut, false, ""},
		{collection, http.MethodPatch, false, ""},
		{object, http.MethodGet, false, apiserver.Get},
		{object, http.MethodGet, true, apiserver.Get},
		{object, http.MethodPut, false, apiserver.Update},
		{object, http.MethodPatch, false, apiserver.Patch},
		{object, http.MethodDelete, false, apiserver.Delete},
		{object, http.MethodPost, false, ""},
		{sub, http.MethodGet, true, apiserver.Get},
		{sub, http.MethodPost, false, apiserver.Create},
		{sub, http.MethodDelete, false, apiserver.Delete},
		{target{watch: true}, http.MethodGet, false, apiserver.WatchVerb},
		{object, http.MethodOptions, false, ""},
	} {
		if got := tc.at.verb(tc.method, tc.watch); got != tc.want {
			t.Errorf("%s on %+v (watch=%v): got %q, want %q", tc.method, tc.at, tc.watch, got, tc.want)
		}
	}
}
