package rest

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest/openapi"
)

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

// openAPI serves what is under /openapi.
func (h *Handler) openAPI(r *http.Request, name string) (*answer, error) {
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
	all, err := h.documents(r.Context())
	if err != nil {
		return nil, err
	}
	docs := all.byName
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
	return doc.answer(r, "text/plain; charset=utf-8", doc.json) // nobody says that it is JSON
}

func documentURL(name, tag string) string {
	return (&url.URL{Path: "/openapi/v3/" + name, RawQuery: url.Values{"hash": {tag}}.Encode()}).String()
}

func (h *Handler) openAPIv3(r *http.Request, name string) (*answer, error) {
	all, err := h.documents(r.Context())
	if err != nil {
		return nil, err
	}
	doc, ok := all.byName[name]
	if !ok {
		return &answer{code: http.StatusNotFound, header: http.Header{}}, nil
	}
	if accept := r.Header.Get("Accept"); accept != "" && len(goautoneg.ParseAccept(accept)) == 0 {
		return &answer{code: http.StatusOK, header: http.Header{"Vary": {"Accept"}}}, nil
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
	all, err := h.documents(r.Context())
	if err != nil {
		return nil, err
	}
	kind, protobuf, ok := openAPIMedia(r, openAPIv2Protobuf, oldV2Protobuf)
	if !ok {
		return &answer{code: http.StatusNotAcceptable, header: http.Header{"Vary": {"Accept"}}}, nil
	}
	doc, err := h.openapi.version2(all)
	if err != nil {
		return nil, err
	}
	data := doc.json
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
