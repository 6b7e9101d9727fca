package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest/openapi"
)

// openAPIDocuments are those of everything that is served at one moment.
type openAPIDocuments struct {
	byName map[string]*openAPIDocument // as the index of version 3 has them
	custom []registry.Schema           // of custom resources, in the order of their names
	names  []string                    // of the documents of built-in kinds, sorted
}

// openAPICache holds documents that were asked for. Those of built-in kinds stay,
// for what is built in does not change; of custom resources the last one of each
// group and version stays, until their definitions change.
type openAPICache struct {
	mu      sync.Mutex
	builtin map[string]*openAPIDocument // nil: there is none
	custom  map[string]customDocument
	last    *openAPIDocument // of version 2
	lastOf  string           // the tags of what it was made of
}

// customDocument is the document of a group and version, and what it was made of.
type customDocument struct {
	*openAPIDocument
	parts []*spec3.OpenAPI
}

// documents are those of everything that is served. Kinds that were registered in
// Go beside the built-in ones have no schema, and no document.
func (h *Handler) documents(ctx context.Context) (*openAPIDocuments, error) {
	var all []apiserver.Resource
	schemas := map[schema.GroupVersionResource]registry.Schema{}
	gone := h.gate(ctx, func() {
		all = h.store.Resources()
		for i := range all {
			if s := h.store.Schema(all[i].GVR()); s != nil {
				schemas[all[i].GVR()] = s
			}
		}
	})
	if gone != nil {
		return nil, errGone(gone)
	}
	docs := &openAPIDocuments{byName: map[string]*openAPIDocument{}}
	served := map[schema.GroupVersionResource]*apiserver.Resource{}
	names := map[string]bool{"api": true, "apis": true, "version": true}
	custom := map[string][]registry.Schema{}
	for i := range all {
		res := &all[i]
		name := documentName(res.GVK().GroupVersion())
		if res.Custom {
			if s := schemas[res.GVR()]; s != nil {
				custom[name] = append(custom[name], s)
				docs.custom = append(docs.custom, s)
			}
			continue
		}
		served[res.GVR()] = res
		names[name] = true
		if res.Group != "" {
			names["apis/"+res.Group] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		doc, err := h.openapi.ofBuiltin(name, served)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			docs.byName[name] = doc
			docs.names = append(docs.names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		doc, err := h.openapi.ofCustom(name, custom[name])
		if err != nil {
			return nil, err
		}
		docs.byName[name] = doc
	}
	return docs, nil
}

func documentName(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

// ofBuiltin returns a recorded document, without paths that are not served.
func (c *openAPICache) ofBuiltin(name string, served map[schema.GroupVersionResource]*apiserver.Resource) (*openAPIDocument, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if doc, made := c.builtin[name]; made {
		return doc, nil
	}
	data, err := openapi.Document(name, func(path string) bool {
		t, ok := parseTarget(path)
		if !ok {
			return true
		}
		res, ok := served[t.resource]
		return ok && (t.subresource == "" || slices.ContainsFunc(res.Subresources, func(s apiserver.Subresource) bool { return s.Name == t.subresource }))
	})
	if err != nil {
		return nil, err
	}
	var doc *openAPIDocument
	if data != nil {
		doc = newDocument(data)
	}
	if c.builtin == nil {
		c.builtin = map[string]*openAPIDocument{}
	}
	c.builtin[name] = doc
	return doc, nil
}

// ofCustom makes the document of a group and version of custom resources.
func (c *openAPICache) ofCustom(name string, schemas []registry.Schema) (*openAPIDocument, error) {
	parts := make([]*spec3.OpenAPI, 0, len(schemas))
	for _, s := range schemas {
		part, err := s.OpenAPI()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.custom[name]; ok && slices.Equal(known.parts, parts) {
		return known.openAPIDocument, nil
	}
	merged, err := builder.MergeSpecsV3(parts...)
	if err != nil {
		return nil, fmt.Errorf("merge the OpenAPI documents of %s: %w", name, err)
	}
	data, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document of %s: %w", name, err)
	}
	if c.custom == nil {
		c.custom = map[string]customDocument{}
	}
	c.custom[name] = customDocument{newDocument(data), parts}
	return c.custom[name].openAPIDocument, nil
}

// version2 makes the document of version 2.
func (c *openAPICache) version2(docs *openAPIDocuments) (*openAPIDocument, error) {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(docs.byName)) {
		key.WriteString(docs.byName[name].tag)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.lastOf == key.String() {
		return c.last, nil
	}
	builtin := make([][]byte, 0, len(docs.names))
	for _, name := range docs.names {
		builtin = append(builtin, docs.byName[name].json)
	}
	custom := make([]*spec.Swagger, 0, len(docs.custom))
	for _, s := range docs.custom {
		part, err := s.OpenAPIV2()
		if err != nil {
			return nil, err
		}
		custom = append(custom, part)
	}
	data, err := openapi.V2(builtin, custom...)
	if err != nil {
		return nil, err
	}
	c.last, c.lastOf = newDocument(data), key.String()
	return c.last, nil
}
