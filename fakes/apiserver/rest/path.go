package rest

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// target is what the path of a request names.
type target struct {
	resource    schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
	rest        string // what follows the subresource, as in .../proxy/a/b
	watch       bool   // the old form, with /watch/ before the resource
}

// parseTarget reads the path of a resource. It reports false for paths that
// name none: discovery documents and everything else.
func parseTarget(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var t target
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		t.resource.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		t.resource.Group, t.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return target{}, false
	}
	if parts[0] == "watch" && len(parts) > 1 {
		t.watch, parts = true, parts[1:]
	}
	// A namespace is part of the path of what is in it, and an object of its
	// own with two subresources.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource.Resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	if len(parts) > 3 {
		t.rest = strings.Join(parts[3:], "/")
	}
	for _, part := range parts {
		if part == "" {
			return target{}, false
		}
	}
	return t, true
}

// verb is what a method means on the target. It is empty when the path has no
// such method.
func (t target) verb(method string, watch bool) apiserver.Verb {
	collection := t.name == ""
	switch method {
	case http.MethodGet:
		switch {
		case t.watch || (watch && collection):
			return apiserver.WatchVerb
		case collection:
			return apiserver.List
		}
		return apiserver.Get
	case http.MethodPost:
		if collection || t.subresource != "" {
			return apiserver.Create
		}
	case http.MethodPut:
		if !collection {
			return apiserver.Update
		}
	case http.MethodPatch:
		if !collection {
			return apiserver.Patch
		}
	case http.MethodDelete:
		if collection {
			return apiserver.DeleteCollection
		}
		return apiserver.Delete
	}
	return ""
}

// customVerb is what a method means on a custom resource, whose handler does not ask
// whether the path has such a method.
func (t target) customVerb(method string, watch bool) apiserver.Verb {
	switch method {
	case http.MethodHead:
		method = http.MethodGet
	case http.MethodPost:
		return apiserver.Create
	case http.MethodPut:
		return apiserver.Update
	case http.MethodPatch:
		return apiserver.Patch
	}
	return t.verb(method, watch)
}
