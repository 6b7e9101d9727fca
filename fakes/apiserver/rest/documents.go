package rest

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// serverVersion is the version whose behaviour is imitated.
var serverVersion = version.Info{
	Major: "1", Minor: "37",
	EmulationMajor: "1", EmulationMinor: "37", MinCompatibilityMajor: "1", MinCompatibilityMinor: "36",
	GitVersion: "v1.37.2", GitCommit: "seedbed", GitTreeState: "clean", BuildDate: "1970-01-01T00:00:00Z",
	GoVersion: "go1.26", Compiler: "gc", Platform: "linux/amd64",
}

// document answers everything that is not a resource.
func (h *Handler) document(r *http.Request) *answer {
	a, err := h.findDocument(r)
	if err != nil {
		return errorAnswer(r, err)
	}
	return a
}

// findDocument looks where a real server does. In front is a mux, which knows exact
// paths and no methods; behind it are routers, of the legacy group and of each version
// of a built-in group, which know methods, and what may be answered.
func (h *Handler) findDocument(r *http.Request) (*answer, error) {
	path := r.URL.Path
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch parts[0] {
	case "":
		return h.root(r)
	case "healthz", "livez", "readyz":
		return health(r, parts[0], strings.Split(path, "/")[2:]), nil
	case "metrics":
		return nil, errNotModelled("metrics of the API server")
	case "logs", "debug":
		return nil, errNotModelled("/" + parts[0])
	case ".well-known", "openid":
		return nil, errNotModelled("discovery of the issuer of tokens")
	case "openapi":
		return h.openAPI(r, strings.TrimPrefix(path, "/openapi/"))
	case "version":
		if len(parts) == 1 {
			return routed(r, mediaTypes[:1], func() (*answer, error) { return jsonAnswer(serverVersion), nil })
		}
	case "api":
		switch len(parts) {
		case 1:
			return routed(r, mediaTypes, func() (*answer, error) { return h.legacyVersions(r) })
		case 2:
			return h.resourceList(r, schema.GroupVersion{Version: parts[1]})
		}
	case "apis":
		switch len(parts) {
		case 1:
			return h.groupList(r, path == "/apis")
		case 2:
			return h.groupDocument(r, parts[1])
		case 3:
			return h.resourceList(r, schema.GroupVersion{Group: parts[1], Version: parts[2]})
		}
	}
	return notFound(), nil
}

// routed answers for a document that a router knows, in one of the types that it
// offers.
func routed(r *http.Request, offered []string, document func() (*answer, error)) (*answer, error) {
	switch {
	case r.Method != http.MethodGet:
		return nil, errMethod()
	case !routerAccepts(r, offered):
		return nil, errMediaType(offered)
	}
	return document()
}

// root lists what a client may look at.
func (h *Handler) root(r *http.Request) (*answer, error) {
	groups, err := h.groups(r.Context())
	if err != nil {
		return nil, err
	}
	paths := []string{"/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz", "/version"}
	for i := range groups {
		if groups[i].name != "" {
			paths = append(paths, "/apis/"+groups[i].name)
		}
		for _, v := range groups[i].versions {
			paths = append(paths, "/"+documentName(schema.GroupVersion{Group: groups[i].name, Version: v.name}))
		}
	}
	slices.Sort(paths)
	return jsonAnswer(map[string][]string{"paths": paths}), nil
}

// checks are those that a server lists when it is asked for details of its
// health.
var checks = []string{"ping", "log", "etcd"}

// health answers that all is well: a server that is not well answers nothing.
func health(r *http.Request, kind string, check []string) *answer {
	query := r.URL.Query()
	var text strings.Builder
	for _, name := range checks {
		switch {
		case len(check) > 0 && name == strings.Join(check, "/"):
			return plainAnswer(http.StatusOK, "ok")
		case slices.Contains(query["exclude"], name):
			text.WriteString("[+]" + name + " excluded: ok\n")
		default:
			text.WriteString("[+]" + name + " ok\n")
		}
	}
	if len(check) > 0 {
		return notFound()
	}
	if _, verbose := query["verbose"]; !verbose {
		return plainAnswer(http.StatusOK, "ok")
	}
	text.WriteString(kind + " check passed\n")
	return plainAnswer(http.StatusOK, text.String())
}
