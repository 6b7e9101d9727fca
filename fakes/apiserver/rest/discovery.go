package rest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// negotiated writes a document that is an API object, in the form that the client
// takes.
func negotiated(r *http.Request, doc any, kind schema.GroupVersionKind) (*answer, error) {
	f, ok := negotiate(r, plainOffer)
	if !ok {
		return nil, errAccept(mediaTypes)
	}
	data, err := f.encode(doc, kind)
	if err != nil {
		return nil, err
	}
	return write(r, http.StatusOK, &f, data)
}

// encode writes an object down whose JSON names its kind already.
func (f *format) encode(doc any, kind schema.GroupVersionKind) ([]byte, error) {
	if f.media == asProtobuf {
		return protobufObject(doc, kind)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind.Kind, err)
	}
	return data, nil
}

func v1Kind(kind string) (metav1.TypeMeta, schema.GroupVersionKind) {
	gvk := metav1.Unversioned.WithKind(kind)
	return metav1.TypeMeta{Kind: kind, APIVersion: gvk.Version}, gvk
}

// legacyVersions is /api.
func (h *Handler) legacyVersions(r *http.Request) (*answer, error) {
	if f, ok := wantsAggregated(r); ok {
		return h.aggregated(r, f, true)
	}
	doc := &metav1.APIVersions{
		Versions:                   []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}},
	}
	_, kind := v1Kind("APIVersions")
	doc.Kind = kind.Kind // the one document that does not say its version
	return negotiated(r, doc, kind)
}

// groupList is /apis. Whole says that it may be the document of all that is in the
// groups.
func (h *Handler) groupList(r *http.Request, whole bool) (*answer, error) {
	if f, ok := wantsAggregated(r); ok && whole {
		return h.aggregated(r, f, false)
	}
	groups, err := h.groups(r.Context())
	if err != nil {
		return nil, err
	}
	doc := &metav1.APIGroupList{Groups: []metav1.APIGroup{}}
	for _, g := range groups {
		if g.name != "" {
			doc.Groups = append(doc.Groups, g.document())
		}
	}
	var kind schema.GroupVersionKind
	doc.TypeMeta, kind = v1Kind("APIGroupList")
	return negotiated(r, doc, kind)
}

// groupDocument is /apis/GROUP.
func (h *Handler) groupDocument(r *http.Request, name string) (*answer, error) {
	groups, err := h.groups(r.Context())
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.name == name {
			doc := g.document()
			var kind schema.GroupVersionKind
			doc.TypeMeta, kind = v1Kind("APIGroup")
			return negotiated(r, &doc, kind)
		}
	}
	return notFound(), nil
}

// resourceList is the document of one group and version.
func (h *Handler) resourceList(r *http.Request, gv schema.GroupVersion) (*answer, error) {
	all, err := h.resources(r.Context())
	if err != nil {
		return nil, err
	}
	doc := &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	custom := false
	for i := range all {
		if all[i].Group == gv.Group && all[i].Version == gv.Version {
			custom = custom || all[i].Custom
			doc.APIResources = append(doc.APIResources, apiResources(&all[i])...)
		}
	}
	if len(doc.APIResources) == 0 {
		return h.notServed(r.Context(), gv)
	}
	var kind schema.GroupVersionKind
	doc.TypeMeta, kind = v1Kind("APIResourceList")
	if custom { // those are in the order in which their definitions are read
		return negotiated(r, doc, kind)
	}
	slices.SortStableFunc(doc.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	return routed(r, mediaTypes, func() (*answer, error) { return negotiated(r, doc, kind) })
}

// customOrder is the order in which a real server lists the verbs of custom
// resources.
var customOrder = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// verbsOf are the verbs of a resource in their order.
func verbsOf(res *apiserver.Resource) []string {
	if !res.Custom {
		return res.Verbs
	}
	var out []string
	for _, verb := range customOrder {
		written := verb == "patch" || verb == "create" || verb == "update"
		if slices.Contains(res.Verbs, verb) && !(written && res.Terminating) {
			out = append(out, verb)
		}
	}
	return out
}

// apiResources are the entries of a resource and of its subresources.
func apiResources(res *apiserver.Resource) []metav1.APIResource {
	out := []metav1.APIResource{{
		Name: res.Plural, SingularName: res.Singular, Namespaced: res.Namespaced, Kind: res.Kind,
		Verbs: verbsOf(res), ShortNames: res.ShortNames, Categories: res.Categories,
	}}
	if slices.Contains(res.Verbs, "get") {
		out[0].StorageVersionHash = storageVersionHash(res.Stored)
	}
	for _, sub := range res.Subresources {
		entry := metav1.APIResource{
			Name: res.Plural + "/" + sub.Name, Namespaced: res.Namespaced, Kind: sub.Kind.Kind, Verbs: sub.Verbs,
		}
		if sub.Kind.GroupVersion() != res.GVK().GroupVersion() {
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

// group is an API group that is served.
type group struct {
	name     string
	versions []groupVersion // best first
}

type groupVersion struct {
	name      string
	resources []apiserver.Resource
}

func (g *group) document() metav1.APIGroup {
	doc := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: g.name, Version: v.name}
		doc.Versions = append(doc.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.name})
	}
	doc.PreferredVersion = doc.Versions[0]
	return doc
}

// groups are the API groups in the order in which clients should look for
// resources in them.
func (h *Handler) groups(ctx context.Context) ([]group, error) {
	all, err := h.resources(ctx)
	if err != nil {
		return nil, err
	}
	var out []group
	for i := range all { // sorted by group and version
		if n := len(out); n == 0 || out[n-1].name != all[i].Group {
			out = append(out, group{name: all[i].Group})
		}
		g := &out[len(out)-1]
		if n := len(g.versions); n == 0 || g.versions[n-1].name != all[i].Version {
			g.versions = append(g.versions, groupVersion{name: all[i].Version})
		}
		v := &g.versions[len(g.versions)-1]
		v.resources = append(v.resources, all[i])
	}
	for i := range out {
		slices.SortFunc(out[i].versions, func(a, b groupVersion) int {
			return version.CompareKubeAwareVersionStrings(b.name, a.name)
		})
	}
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(priority(b.name), priority(a.name)) })
	return out, nil
}

// priority is that of a group: the higher comes first, equal ones in alphabetical
// order. Groups of custom resources come last.
func priority(group string) int {
	switch group {
	case "":
		return 18000
	case "apps":
		return 17800
	case "events.k8s.io":
		return 17750
	case "authentication.k8s.io":
		return 17700
	case "authorization.k8s.io":
		return 17600
	case "autoscaling":
		return 17500
	case "batch":
		return 17400
	case "certificates.k8s.io":
		return 17300
	case "networking.k8s.io":
		return 17200
	case "policy":
		return 17100
	case "rbac.authorization.k8s.io":
		return 17000
	case "storage.k8s.io":
		return 16800
	case "admissionregistration.k8s.io", "apiextensions.k8s.io":
		return 16700
	case "scheduling.k8s.io":
		return 16600
	case "coordination.k8s.io":
		return 16500
	case "node.k8s.io":
		return 16300
	case "discovery.k8s.io", "resource.k8s.io":
		return 16200
	case "flowcontrol.apiserver.k8s.io":
		return 16100
	}
	return 1000
}
