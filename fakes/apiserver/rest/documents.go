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

func (h *Handler) findDocument(r *http.Request) (*answer, error) {
	path := strings.Trim(r.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch parts[0] {
	case "healthz", "livez", "readyz":
		return health(r, parts[0], parts[1:]), nil
	case "metrics":
		return nil, errNotModelled("metrics of the API server")
	case "logs", "debug":
		return nil, errNotModelled("/" + parts[0])
	case "openapi":
		return h.openAPI(r, parts[1:])
	}
	if r.Method != http.MethodGet {
		return nil, errMethod()
	}
	switch {
	case path == "":
		return h.root(r)
	case path == "version":
		return jsonAnswer(serverVersion), nil
	case path == "api":
		return h.legacyVersions(r)
	case path == "apis":
		return h.groupList(r)
	case parts[0] == "api" && len(parts) == 2:
		return h.resourceList(r, schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 2:
		return h.groupDocument(r, parts[1])
	case parts[0] == "apis" && len(parts) == 3:
		return h.resourceList(r, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return notFound(), nil
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
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return errorAnswer(r, errMethod())
	}
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
