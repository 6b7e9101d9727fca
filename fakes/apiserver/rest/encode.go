package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// encoder writes the objects of one answer.
type encoder struct {
	format format
	// kind of the objects. Stored Go types do not carry it themselves.
	kind     schema.GroupVersionKind
	listKind string
	custom   bool // of a definition
	table    tableOptions
}

// object is a single object, converted as the format says.
func (e *encoder) object(obj apiserver.Object) ([]byte, error) {
	switch e.format.convert.Kind {
	case asMetadata:
		return e.metadata(obj)
	case asMetadataList:
		return nil, e.errNotAList()
	case asTable:
		return e.tableOfOne(obj)
	}
	return e.whole(obj)
}

// whole is all of obj, with its kind.
func (e *encoder) whole(obj apiserver.Object) ([]byte, error) {
	if e.format.media == asProtobuf {
		return protobufObject(obj, e.kind)
	}
	return e.wholeJSON(obj)
}

func (e *encoder) wholeJSON(obj apiserver.Object) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", e.kind.Kind, obj.GetName(), err)
	}
	if !obj.GetObjectKind().GroupVersionKind().Empty() {
		return data, nil
	}
	return withKind(data, e.kind), nil
}

// withKind puts kind and apiVersion in front of the other members of a JSON
// object.
func withKind(data []byte, kind schema.GroupVersionKind) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(data)+64+len(kind.Group)+len(kind.Kind)))
	fmt.Fprintf(out, `{"kind":%q,"apiVersion":%q`, kind.Kind, kind.GroupVersion())
	if len(data) > 2 {
		out.WriteByte(',')
	}
	out.Write(data[1:])
	return out.Bytes()
}

// metadata is obj without everything but its metadata.
func (e *encoder) metadata(obj apiserver.Object) ([]byte, error) {
	partial, kind := metadataOf(obj), e.format.convert.GroupVersion().WithKind(asMetadata)
	if e.format.media == asProtobuf {
		return protobufObject(partial, kind)
	}
	partial.SetGroupVersionKind(kind)
	return json.Marshal(partial)
}

// metadataOf returns the metadata of obj, as a server has them inside: there, what
// counts the templates of a DaemonSet is no annotation.
func metadataOf(obj apiserver.Object) *metav1.PartialObjectMetadata {
	partial := meta.AsPartialObjectMetadata(obj)
	if _, ok := obj.(*appsv1.DaemonSet); ok {
		partial.Annotations = maps.Clone(partial.Annotations)
		delete(partial.Annotations, appsv1.DeprecatedTemplateGeneration)
	}
	return partial
}

// list is a list of objects.
func (e *encoder) list(items []apiserver.Object, list metav1.ListMeta) ([]byte, error) {
	switch e.format.convert.Kind {
	case asMetadata:
		return nil, e.errIsList()
	case asTable:
		return e.tableOf(items, list)
	}
	if e.format.media == asProtobuf {
		return e.protobufList(items, list)
	}
	// Items of Go types have no kind in lists; custom resources bring theirs.
	kind, item := e.kind.GroupVersion().WithKind(e.listKind), func(obj apiserver.Object) ([]byte, error) { return json.Marshal(obj) }
	if e.format.is(asMetadataList) {
		kind, item = e.format.convert, e.metadata
	}
	head, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode metadata of a list: %w", err)
	}
	if e.custom && list.Continue == "" && !e.format.is(asMetadataList) {
		head = append(head[:len(head)-1], `,"continue":""}`...) // so a real server says it
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, kind.Kind, kind.GroupVersion(), head)
	for i, obj := range items {
		data, err := item(obj)
		if err != nil {
			return nil, fmt.Errorf("encode item %q of a list: %w", obj.GetName(), err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(data)
	}
	out.WriteString(`]}`)
	if len(items) == 0 && e.format.is(asMetadataList) {
		return bytes.Replace(out.Bytes(), []byte(`"items":[]`), []byte(`"items":null`), 1), nil // so a real server says it
	}
	return out.Bytes(), nil
}

// status is a Status.
func (f *format) status(status metav1.Status) ([]byte, error) {
	kind := metav1.Unversioned.WithKind("Status")
	if f.media == asProtobuf {
		return protobufObject(&status, kind)
	}
	status.TypeMeta = metav1.TypeMeta{Kind: kind.Kind, APIVersion: kind.Version}
	return json.Marshal(&status)
}

// finish brings JSON into the form that was asked for. Protobuf is finished.
func (f *format) finish(data []byte) ([]byte, error) {
	switch {
	case f.media == asProtobuf:
		return data, nil
	case f.media == asYAML:
		return yaml.JSONToYAML(data)
	case f.pretty:
		var out bytes.Buffer
		if err := json.Indent(&out, data, "", "  "); err != nil {
			return nil, fmt.Errorf("indent an answer: %w", err)
		}
		return out.Bytes(), nil
	}
	return append(data, '\n'), nil
}

func (e *encoder) errNotAList() error {
	if e.custom {
		return statusError(http.StatusInternalServerError, "", "content is not a list")
	}
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"you requested %s, but the requested object is not a list (%s)", asMetadataList, e.internalType(""))
}

func (e *encoder) errIsList() error {
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"you requested %s, but the requested object is a list (%s)", asMetadata, e.internalType("List"))
}

// internalType is the Go type in which a real server holds the kind.
func (e *encoder) internalType(suffix string) string {
	if e.custom {
		return "*unstructured.Unstructured" + suffix
	}
	group, _, _ := strings.Cut(e.kind.Group, ".")
	if group == "" {
		group = "core"
	}
	return "*" + group + "." + e.kind.Kind + suffix
}
