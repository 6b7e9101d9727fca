package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// serverVersion is the version whose behaviour is imitated.
var serverVersion = version.Info{
	Major: "1", Minor: "37",
	EmulationMajor: "1", EmulationMinor: "37", MinCompatibilityMajor: "1", MinCompatibilityMinor: "36",
	GitVersion: "v1.37.2", GitCommit: "seedbed", GitTreeState: "clean", BuildDate: "1970-01-01T00:00:00Z",
	GoVersion: "go1.26", Compiler: "gc", Platform: "linux/amd64",
}

// discovery answers everything that is not a resource.
func (h *Handler) discovery(r *http.Request) *answer {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return errorAnswer(errMethod())
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 1:
		switch parts[0] {
		case "healthz", "livez", "readyz":
			return plainAnswer(http.StatusOK, "ok")
		case "version":
			return jsonAnswer(serverVersion)
		case "api":
			return jsonAnswer(metav1.APIVersions{
				TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
				ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{},
			})
		case "apis":
			return jsonAnswer(metav1.APIGroupList{
				TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: h.groups(),
			})
		}
	case parts[0] == "api" && len(parts) == 2:
		return h.resourceList(schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 2:
		return h.groupDocument(parts[1])
	case parts[0] == "apis" && len(parts) == 3:
		return h.resourceList(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return plainAnswer(http.StatusNotFound, "404 page not found\n")
}

func (h *Handler) groupDocument(name string) *answer {
	for _, group := range h.groups() {
		if group.Name == name {
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			return jsonAnswer(group)
		}
	}
	return plainAnswer(http.StatusNotFound, "404 page not found\n")
}

// resourceList is the document of one group and version.
func (h *Handler) resourceList(gv schema.GroupVersion) *answer {
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(), APIResources: []metav1.APIResource{},
	}
	for _, res := range h.store.Resources() {
		if res.Group == gv.Group && res.Version == gv.Version {
			list.APIResources = append(list.APIResources, apiResources(&res)...)
		}
	}
	if len(list.APIResources) == 0 {
		a, err := h.notServed(gv)
		if err != nil {
			return errorAnswer(err)
		}
		return a
	}
	slices.SortStableFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	return jsonAnswer(list)
}

// customVerbs are those of custom resources, which a real server lists in an
// order of their own.
var customVerbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// apiResources are the entries of a resource and of its subresources.
func apiResources(res *apiserver.Resource) []metav1.APIResource {
	out := []metav1.APIResource{{
		Name: res.Plural, SingularName: res.Singular, Namespaced: res.Namespaced, Kind: res.Kind,
		Verbs: res.Verbs, ShortNames: res.ShortNames, Categories: res.Categories,
	}}
	if res.Custom {
		out[0].Verbs = customVerbs
	}
	if slices.Contains(res.Verbs, "get") {
		out[0].StorageVersionHash = storageVersionHash(res.GVK())
	}
	for _, sub := range res.Subresources {
		entry := metav1.APIResource{
			Name: res.Plural + "/" + sub.Name, Namespaced: res.Namespaced, Kind: sub.Kind.Kind, Verbs: sub.Verbs,
		}
		if sub.Kind.Group != res.Group || sub.Kind.Version != res.Version {
			entry.Group, entry.Version = sub.Kind.Group, sub.Kind.Version
		}
		out = append(out, entry)
	}
	return out
}

// storageVersionHash names the version in which a kind is stored, so that
// clients see when it changes.
func storageVersionHash(stored schema.GroupVersionKind) string {
	sum := sha256.Sum256([]byte(stored.Group + "/" + stored.Version + "/" + stored.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// groups are the named API groups, with their versions, best first.
func (h *Handler) groups() []metav1.APIGroup {
	var out []metav1.APIGroup
	for _, res := range h.store.Resources() {
		gv := res.GVK().GroupVersion()
		if gv.Group == "" {
			continue
		}
		i := slices.IndexFunc(out, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if i < 0 {
			out = append(out, metav1.APIGroup{Name: gv.Group})
			i = len(out) - 1
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		if !slices.Contains(out[i].Versions, v) {
			out[i].Versions = append(out[i].Versions, v)
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Versions, func(a, b metav1.GroupVersionForDiscovery) int {
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
		out[i].PreferredVersion = out[i].Versions[0]
	}
	return out
}

func jsonAnswer(v any) *answer {
	body, err := json.Marshal(v)
	if err != nil {
		return plainAnswer(http.StatusInternalServerError, err.Error())
	}
	return &answer{code: http.StatusOK, header: contentType("application/json"), body: append(body, '\n')}
}
