package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

func TestNegotiate(t *testing.T) {
	to := func(kind, version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "meta.k8s.io", Version: version, Kind: kind}
	}
	const table, metadata = "as=Table;g=meta.k8s.io;v=v1", "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	for _, tc := range []struct {
		accept string
		custom bool
		want   format
		refuse bool
	}{
		{accept: "", want: format{}},
		{accept: "*/*", want: format{}},
		{accept: "application/*", want: format{}},
		{accept: "application/yaml", want: format{media: asYAML}},
		{accept: "application/json;q=0.5,application/yaml;q=0.8", want: format{media: asYAML}},
		{accept: "application/vnd.kubernetes.protobuf,application/json", want: format{media: asProtobuf}},
		{accept: "application/vnd.kubernetes.protobuf,application/json", custom: true, want: format{}},
		{accept: "application/vnd.kubernetes.protobuf", custom: true, refuse: true},
		{accept: "application/vnd.kubernetes.protobuf;" + metadata, custom: true, want: format{media: asProtobuf, convert: to(asMetadataList, "v1")}},
		{accept: "application/vnd.kubernetes.protobuf;" + table, refuse: true},
		{accept: "application/vnd.kubernetes.protobuf;" + table + ",application/json;" + table, want: format{convert: to(asTable, "v1")}},
		{accept: "application/yaml;" + table, want: format{media: asYAML, convert: to(asTable, "v1")}},
		{accept: "application/json;as=Table;g=meta.k8s.io;v=v1beta1", want: format{convert: to(asTable, "v1beta1")}},
		{accept: "application/json;as=Table;g=meta.k8s.io;v=v2,application/json", want: format{}},
		{accept: "application/json;as=Nope;g=meta.k8s.io;v=v1", refuse: true},
		{accept: "application/json;v=v1", refuse: true},
		{accept: "application/json;stream=watch", want: format{}},
		{accept: "application/json;stream=tail", refuse: true},
		{accept: "application/yaml;stream=watch", refuse: true},
		{accept: "application/json;pretty=1", want: format{pretty: true}},
		{accept: "application/json;unheard=of", want: format{}},
		{accept: "application/cbor", refuse: true},
		{accept: "text/html", refuse: true},
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
		r.Header.Set("Accept", tc.accept)
		got, ok := negotiate(r, resourceOffer(&apiserver.Resource{Custom: tc.custom, Verbs: []string{"get"}}))
		if ok == tc.refuse {
			t.Errorf("%q (custom: %v): accepted is %v", tc.accept, tc.custom, ok)
			continue
		}
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(format{})); ok && diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.accept, diff)
		}
	}
}

// TestPeopleGetIndentedAnswers: as a real server tells them from programs.
func TestPeopleGetIndentedAnswers(t *testing.T) {
	for _, tc := range []struct {
		agent, query string
		want         bool
	}{
		{"curl/8.0", "", true},
		{"Mozilla/5.0 (X11)", "", true},
		{"kubectl/v1.37.2", "", false},
		{"kubectl/v1.37.2", "?pretty=true", true},
		{"curl/8.0", "?pretty=false", false},
		{"curl/8.0", "?pretty=maybe", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/pods"+tc.query, nil)
		r.Header.Set("User-Agent", tc.agent)
		if got := wantsPretty(r); got != tc.want {
			t.Errorf("%s%s: got %v, want %v", tc.agent, tc.query, got, tc.want)
		}
	}
}
