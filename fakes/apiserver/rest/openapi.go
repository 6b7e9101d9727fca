package rest

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/munnerz/goautoneg"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest/openapi"
)

// Schemas finds the OpenAPI document, of version 3 and as JSON, of a custom
// resource in one version; nil if it has none. It is called under the [Gate].
type Schemas func(gvr schema.GroupVersionResource) ([]byte, error)

// WithSchemas sets where documents of custom resources come from. Without it,
// only built-in kinds have any.
func WithSchemas(schemas Schemas) Option {
	return func(h *Handler) { h.schemas = schemas }
}

// Media types of OpenAPI documents in protobuf, with old names of theirs.
const (
	openAPIv2Protobuf = "com.github.proto-openapi.spec.v2.v1.0+protobuf"
	openAPIv3Protobuf = "com.github.proto-openapi.spec.v3.v1.0+protobuf"
	oldV2Protobuf     = "com.github.proto-openapi.spec.v2@v1.0+protobuf"
	oldV3Protobuf     = "com.github.proto-openapi.spec.v3@v1.0+protobuf"
)

// openAPIDocument is one that can be served.
type openAPIDocument struct {
	json []byte
	tag  string
}

func newDocument(data []byte) *openAPIDocument {
	return &openAPIDocument{json: data, tag: fmt.Sprintf("%X", sha512.Sum512(data))}
}

// builtinDocuments are those of the built-in kinds. They are made when they are
// asked for, and stay: what is built in does not change.
type builtinDocuments struct {
	mu   sync.Mutex
	docs map[string]*openAPIDocument // nil: there is none
}

// openAPI serves what is under /openapi.
func (h *Handler) openAPI(r *http.Request, parts []string) (*answer, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, errMethod()
	}
	name := strings.Join(parts, "/")
	switch {
	case name == "v2":
		return h.openAPIv2(r)
	case name == "v3":
		return h.openAPIIndex(r)
	case strings.HasPrefix(name, "v3/"):
		return h.openAPIv3(r, strings.TrimPrefix(name, "v3/"))
	}
	return notFound(), nil
}

// openAPIIndex lists the documents, each under an address that changes with it.
func (h *Handler) openAPIIndex(r *http.Request) (*answer, error) {
	docs, err := h.documents(r.Context())
	if err != nil {
		return nil, err
	}
	type at struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	index := struct {
		Paths map[string]at `json:"paths"`
	}{map[string]at{}}
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		index.Paths[name] = at{documentURL(name, docs[name].tag)}
	}
	data, err := json.Marshal(index)
	if err != nil {
		return nil, fmt.Errorf("encode the index of OpenAPI documents: %w", err)
	}
	doc := newDocument(data)
	return doc.answer(r, "application/json", doc.json)
}

func documentURL(name, tag string) string {
	return (&url.URL{Path: "/openapi/v3/" + name, RawQuery: url.Values{"hash": {tag}}.Encode()}).String()
}

func (h *Handler) openAPIv3(r *http.Request, name string) (*answer, error) {
	docs, err := h.documents(r.Context())
	if err != nil {
		return nil, err
	}
	doc, ok := docs[name]
	if !ok {
		return notFound(), nil
	}
	kind, protobuf, ok := openAPIMedia(r, openAPIv3Protobuf, oldV3Protobuf)
	if !ok {
		return &answer{code: http.StatusNotAcceptable, header: http.Header{"Vary": {"Accept"}}}, nil
	}
	hash := r.URL.Query().Get("hash")
	if hash != "" && hash != doc.tag {
		a := plainAnswer(http.StatusMovedPermanently, "")
		a.header.Set("Location", documentURL(name, doc.tag))
		return a, nil
	}
	data := doc.json
	if protobuf {
		if data, err = openapi.V3Protobuf(data); err != nil {
			return nil, err
		}
	}
	a, err := doc.answer(r, kind, data)
	if err == nil && hash != "" { // this address never shows anything else
		a.header.Set("Cache-Control", "public, immutable")
	}
	return a, err
}

func (h *Handler) openAPIv2(r *http.Request) (*answer, error) {
	docs, err := h.documents(r.Context())
	if err != nil {
		return nil, err
	}
	kind, protobuf, ok := openAPIMedia(r, openAPIv2Protobuf, oldV2Protobuf)
	if !ok {
		return &answer{code: http.StatusNotAcceptable, header: http.Header{"Vary": {"Accept"}}}, nil
	}
	var all [][]byte
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		all = append(all, docs[name].json)
	}
	data, err := openapi.V2(all)
	if err != nil {
		return nil, err
	}
	doc := newDocument(data)
	if protobuf {
		if data, err = openapi.V2Protobuf(data); err != nil {
			return nil, err
		}
	}
	return doc.answer(r, kind, data)
}

// openAPIMedia negotiates JSON or protobuf.
func openAPIMedia(r *http.Request, protobuf, old string) (kind string, isProtobuf, ok bool) {
	header := r.Header.Get("Accept")
	if header == "" {
		header = "*/*"
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		if clause.Type != "application" && clause.Type != "*" {
			continue
		}
		switch clause.SubType {
		case "json", "*":
			return "application/json", false, true
		case protobuf, old:
			return "application/" + protobuf, true, true
		}
	}
	return "", false, false
}

// answer sends a document, unless the client has it already.
func (d *openAPIDocument) answer(r *http.Request, kind string, data []byte) (*answer, error) {
	tag := strconv.Quote(d.tag)
	header := http.Header{"Etag": {tag}, "Vary": {"Accept"}}
	if r.Header.Get("If-None-Match") == tag {
		return &answer{code: http.StatusNotModified, header: header}, nil
	}
	header.Set("Content-Type", kind)
	a := &answer{code: http.StatusOK, header: header, body: data}
	return a, a.compress(r)
}

// documents are those of everything that is served, by their names in the index.
func (h *Handler) documents(ctx context.Context) (map[string]*openAPIDocument, error) {
	all, err := h.resources(ctx)
	if err != nil {
		return nil, err
	}
	served := map[schema.GroupVersionResource]*apiserver.Resource{}
	names := map[string]bool{"api": true, "apis": true, "version": true}
	custom := map[string][]schema.GroupVersionResource{}
	for i := range all {
		res := &all[i]
		name := documentName(res.GVK().GroupVersion())
		if res.Custom {
			custom[name] = append(custom[name], res.GVR())
			continue
		}
		served[res.GVR()] = res
		names[name] = true
		if res.Group != "" {
			names["apis/"+res.Group] = true
		}
	}
	docs := map[string]*openAPIDocument{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		doc, err := h.builtin.get(name, served)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			docs[name] = doc
		}
	}
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		doc, err := h.customDocument(ctx, custom[name])
		if err != nil {
			return nil, err
		}
		if doc != nil {
			docs[name] = doc
		}
	}
	return docs, nil
}

func documentName(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

// get returns a recorded document, without paths that are not served.
func (b *builtinDocuments) get(name string, served map[schema.GroupVersionResource]*apiserver.Resource) (*openAPIDocument, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if doc, made := b.docs[name]; made {
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
	if b.docs == nil {
		b.docs = map[string]*openAPIDocument{}
	}
	b.docs[name] = doc
	return doc, nil
}

// customDocument is the document of a group and version of custom resources; nil
// if none of them has one.
func (h *Handler) customDocument(ctx context.Context, resources []schema.GroupVersionResource) (*openAPIDocument, error) {
	if h.schemas == nil {
		return nil, nil
	}
	var parts [][]byte
	var failure error
	gone := h.gate(ctx, func() {
		for _, gvr := range resources {
			data, err := h.schemas(gvr)
			if err != nil {
				failure = err
				return
			}
			if data != nil {
				parts = append(parts, data)
			}
		}
	})
	switch {
	case gone != nil:
		return nil, errGone(gone)
	case failure != nil:
		return nil, failure
	case len(parts) == 0:
		return nil, nil
	}
	data, err := mergeDocuments(parts)
	if err != nil {
		return nil, err
	}
	return newDocument(data), nil
}

// mergeDocuments makes one document of several with different paths. Schemas of
// the same name are the same.
func mergeDocuments(parts [][]byte) ([]byte, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	type document struct {
		OpenAPI    string                     `json:"openapi"`
		Info       json.RawMessage            `json:"info"`
		Paths      map[string]json.RawMessage `json:"paths"`
		Components struct {
			Schemas         map[string]json.RawMessage `json:"schemas,omitempty"`
			SecuritySchemes json.RawMessage            `json:"securitySchemes,omitempty"`
		} `json:"components"`
	}
	var merged document
	for _, data := range parts {
		var doc document
		if err := json.Unmarshal(bytes.TrimSpace(data), &doc); err != nil {
			return nil, fmt.Errorf("read an OpenAPI document: %w", err)
		}
		if merged.Paths == nil {
			merged = doc
			if merged.Components.Schemas == nil {
				merged.Components.Schemas = map[string]json.RawMessage{}
			}
			continue
		}
		maps.Copy(merged.Paths, doc.Paths)
		maps.Copy(merged.Components.Schemas, doc.Components.Schemas)
	}
	return json.Marshal(merged)
}
