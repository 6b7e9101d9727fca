package rest

import (
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestNegotiate(t *testing.T) {
	const partial = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	for accept, want := range map[string]format{
		"":                 {},
		"*/*":              {},
		"application/json": {},
		"application/yaml": {yaml: true},
		"application/json;q=0.1,application/yaml":                                       {yaml: true},
		"application/vnd.kubernetes.protobuf,application/json":                          {},
		"application/vnd.kubernetes.protobuf, */*":                                      {},
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json":                 {convert: asTable, version: "meta.k8s.io/v1"},
		"application/json;as=Nope;v=v1;g=meta.k8s.io,application/json":                  {},
		"application/vnd.kubernetes.protobuf" + partial + ",application/json" + partial: {convert: asMetadataList, version: "meta.k8s.io/v1"},
	} {
		got, err := negotiate(&http.Request{Header: http.Header{"Accept": {accept}}})
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", accept, got, err, want)
		}
	}
	for _, accept := range []string{"application/xml", "application/json;as=Nope;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf"} {
		got, err := negotiate(&http.Request{Header: http.Header{"Accept": {accept}}})
		if !apierrors.IsNotAcceptable(err) {
			t.Errorf("%s: got %+v, %v; want NotAcceptable", accept, got, err)
		}
	}
}
