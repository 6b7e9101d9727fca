package rest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// encoder writes the objects of one answer.
type encoder struct {
	format format
	// kind of the objects. Stored Go types do not carry it themselves.
	kind schema.GroupVersionKind
	// custom resources carry their kind in lists as well.
	table tableOptions
}

// object is the JSON of a single object, converted as the format says.
func (e *encoder) object(obj apiserver.Object) ([]byte, error) {
	switch e.format.convert {
	case asMetadata:
		return e.metadata(obj)
	case asMetadataList:
		return nil, errNotAList(obj)
	case asTable:
		return e.tableOf([]apiserver.Object{obj}, metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()})
	}
	return e.whole(obj)
}

// whole is the JSON of obj with its kind.
func (e *encoder) whole(obj apiserver.Object) ([]byte, error) {
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
	var out bytes.Buffer
	out.Grow(len(data) + 64)
	fmt.Fprintf(&out, `{"kind":%q,"apiVersion":%q`, kind.Kind, kind.GroupVersion())
	if len(data) > 2 {
		out.WriteByte(',')
	}
	out.Write(data[1:])
	return out.Bytes()
}

// metadata is obj without everything but its metadata.
func (e *encoder) metadata(obj apiserver.Object) ([]byte, error) {
	partial := meta.AsPartialObjectMetadata(obj)
	partial.TypeMeta = metav1.TypeMeta{Kind: asMetadata, APIVersion: e.format.version}
	return json.Marshal(partial)
}

// list is the JSON of a list.
func (e *encoder) list(items []apiserver.Object, listMeta metav1.ListMeta) ([]byte, error) {
	kind, version, item := e.kind.Kind+"List", e.kind.GroupVersion().String(), marshalItem
	switch e.format.convert {
	case asMetadataList:
		kind, version, item = asMetadataList, e.format.version, e.metadata
	case asMetadata:
		return nil, errIsList()
	case asTable:
		return e.tableOf(items, listMeta)
	}
	head, err := json.Marshal(listMeta)
	if err != nil {
		return nil, fmt.Errorf("encode metadata of a list: %w", err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, kind, version, head)
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
	return out.Bytes(), nil
}

// marshalItem leaves Go types without a kind, as a real server does in lists;
// custom resources bring theirs along.
func marshalItem(obj apiserver.Object) ([]byte, error) { return json.Marshal(obj) }

func errNotAList(obj apiserver.Object) error {
	return statusError(406, metav1.StatusReasonNotAcceptable,
		"you requested %s, but the requested object is not a list type (%T)", asMetadataList, obj)
}

func errIsList() error {
	return statusError(406, metav1.StatusReasonNotAcceptable,
		"you requested %s, but the requested object is a list", asMetadata)
}
