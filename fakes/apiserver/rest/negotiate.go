package rest

import (
	"net/http"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mediaTypes are those a real server offers, as its refusals list them.
var mediaTypes = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}

// Conversions that a client may ask for with as=.
const (
	asMetadata     = "PartialObjectMetadata"
	asMetadataList = "PartialObjectMetadataList"
	asTable        = "Table"
)

// format is how an answer is to be written.
type format struct {
	yaml    bool
	convert string // empty: the object itself
	version string // apiVersion of the conversion
}

// negotiate picks the first clause of the Accept header, by preference, that
// can be served. Protobuf cannot: a client that also takes JSON gets JSON.
func negotiate(r *http.Request) (format, error) {
	header := r.Header.Get("Accept")
	if header == "" {
		return format{}, nil
	}
	known := false
	for _, clause := range goautoneg.ParseAccept(header) {
		f, ok := serves(clause)
		if !ok {
			continue
		}
		known = true
		if f.conversion(clause.Params) {
			return f, nil
		}
	}
	if known {
		return format{}, errAccept()
	}
	return format{}, errMediaType()
}

// serves tells whether there is an encoder for the clause's media type.
func serves(clause goautoneg.Accept) (format, bool) {
	switch clause.Type + "/" + clause.SubType {
	case "application/json", "application/*", "*/*":
		return format{}, true
	case "application/yaml":
		return format{yaml: true}, true
	}
	return format{}, false
}

// conversion reads as=, g= and v=; false if there is no such conversion.
func (f *format) conversion(params map[string]string) bool {
	kind := params["as"]
	if kind == "" {
		return true
	}
	group, version := params["g"], params["v"]
	if group != metav1.GroupName || (version != "v1" && version != "v1beta1") {
		return false
	}
	switch kind {
	case asMetadata, asMetadataList, asTable:
		f.convert, f.version = kind, group+"/"+version
		return true
	}
	return false
}
