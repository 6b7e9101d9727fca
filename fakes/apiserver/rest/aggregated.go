package rest

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

var aggregatedKind = apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")

// wantsAggregated tells whether the best that the client takes is a document of
// all groups with all that is in them, and in which form.
func wantsAggregated(r *http.Request) (format, bool) {
	f, ok := negotiate(r, offer{
		whole:    func(media) bool { return false },
		converts: func(_ media, to schema.GroupVersionKind) bool { return to == aggregatedKind },
	})
	return f, ok && f.convert == aggregatedKind
}

// aggregated is that document, for the legacy group or for all others. Clients
// that have it already are told so.
func (h *Handler) aggregated(r *http.Request, f format, legacy bool) (*answer, error) {
	groups, err := h.groups(r.Context())
	if err != nil {
		return nil, err
	}
	doc := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	doc.Kind, doc.APIVersion = aggregatedKind.Kind, aggregatedKind.GroupVersion().String()
	for i := range groups {
		if (groups[i].name == "") == legacy {
			doc.Items = append(doc.Items, groupDiscovery(&groups[i]))
		}
	}
	sum, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode the discovery document: %w", err)
	}
	tag := strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(sum)))
	kind := f.media.String() + ";g=" + aggregatedKind.Group + ";v=" + aggregatedKind.Version + ";as=" + aggregatedKind.Kind
	if r.Header.Get("If-None-Match") == tag {
		return &answer{code: http.StatusNotModified, header: http.Header{"Etag": {tag}, "Vary": {"Accept"}, "Cache-Control": {"public"}}}, nil
	}
	data, err := f.encode(doc, aggregatedKind)
	if err != nil {
		return nil, err
	}
	a, err := write(r, http.StatusOK, &f, data)
	if err != nil {
		return nil, err
	}
	a.header.Set("Content-Type", kind)
	a.header.Set("Etag", tag)
	a.header.Add("Vary", "Accept")
	a.header.Set("Cache-Control", "public")
	return a, nil
}

func groupDiscovery(g *group) apidiscoveryv2.APIGroupDiscovery {
	out := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	for _, v := range g.versions {
		versions := apidiscoveryv2.APIVersionDiscovery{Version: v.name, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for i := range v.resources {
			versions.Resources = append(versions.Resources, resourceDiscovery(&v.resources[i]))
		}
		out.Versions = append(out.Versions, versions)
	}
	return out
}

func resourceDiscovery(res *apiserver.Resource) apidiscoveryv2.APIResourceDiscovery {
	out := apidiscoveryv2.APIResourceDiscovery{
		Resource: res.Plural, SingularResource: res.Singular, Scope: apidiscoveryv2.ScopeCluster, Verbs: verbsOf(res),
		ShortNames: res.ShortNames, Categories: res.Categories, ResponseKind: responseKind(res, res.GVK()),
	}
	if res.Namespaced {
		out.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, sub := range res.Subresources {
		out.Subresources = append(out.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub.Name, ResponseKind: responseKind(res, sub.Kind), Verbs: sub.Verbs,
		})
	}
	return out
}

// responseKind is the kind of what a path answers with. Built-in resources leave
// their own group and version out.
func responseKind(res *apiserver.Resource, kind schema.GroupVersionKind) *metav1.GroupVersionKind {
	out := metav1.GroupVersionKind(kind)
	if !res.Custom && kind.GroupVersion() == res.GVK().GroupVersion() {
		out.Group, out.Version = "", ""
	}
	return &out
}
