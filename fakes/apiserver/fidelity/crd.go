package fidelity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definition is what the fake can make of a CustomResourceDefinition: the kind
// of its stored version, without a schema.
type definition struct {
	Spec struct {
		Group string
		Scope string
		Names struct {
			Kind, Plural           string
			ShortNames, Categories []string
		}
		Versions []struct {
			Name             string
			Storage          bool
			Subresources     struct{ Status *struct{} }
			SelectableFields []struct{ JSONPath string }
		}
	}
}

// define registers the kind that a case defines, so that what is said about
// custom resources can be tested before there are CustomResourceDefinitions.
// The definition is answered with itself.
func define(st *apiserver.Store, r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var d definition
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, err
	}
	for _, v := range d.Spec.Versions {
		if !v.Storage {
			continue
		}
		info := apiserver.KindInfo{
			GVK:    schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: d.Spec.Names.Kind},
			Plural: d.Spec.Names.Plural, ShortNames: d.Spec.Names.ShortNames, Categories: d.Spec.Names.Categories,
			Cluster: d.Spec.Scope == "Cluster", Status: v.Subresources.Status != nil,
			Selectable: map[string]func(apiserver.Object) string{},
		}
		for _, f := range v.SelectableFields {
			path := strings.TrimPrefix(f.JSONPath, ".")
			info.Selectable[path] = func(obj apiserver.Object) string { return fieldOf(obj, path) }
		}
		if err := st.Register(info); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// fieldOf is the text of a field, empty if it is absent.
func fieldOf(obj apiserver.Object, path string) string {
	data, err := json.Marshal(obj)
	if err != nil {
		return ""
	}
	var at any
	if err := json.Unmarshal(data, &at); err != nil {
		return ""
	}
	for _, member := range strings.Split(path, ".") {
		m, _ := at.(map[string]any)
		at = m[member]
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}
