package rest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// protobufMagic begins every object in protobuf that is not part of another.
var protobufMagic = []byte("k8s\x00")

// message is what generated Go types can do.
type message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// errNoProtobuf is the refusal of a type that has no form in protobuf.
func errNoProtobuf(obj any) error {
	return statusError(406, metav1.StatusReasonNotAcceptable,
		"object %T does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message", obj)
}

// protobufObject is an object within the envelope that names its kind.
func protobufObject(obj any, kind schema.GroupVersionKind) ([]byte, error) {
	m, ok := obj.(message)
	if !ok {
		return nil, errNoProtobuf(obj)
	}
	return envelope(m, kind)
}

// envelope is a runtime.Unknown around m, which is written only once.
func envelope(m message, kind schema.GroupVersionKind) ([]byte, error) {
	version, name := kind.ToAPIVersionAndKind()
	head := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: name}}
	size := m.Size()
	out := make([]byte, len(protobufMagic)+head.Size()+fieldSize(size))
	copy(out, protobufMagic)
	n, err := head.NestedMarshalTo(out[len(protobufMagic):], marshaller{m}, uint64(size))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return out[:len(protobufMagic)+n], nil
}

// marshaller has the methods that NestedMarshalTo wants.
type marshaller struct{ message }

// MarshalTo is never called: MarshalToSizedBuffer is preferred.
func (m marshaller) MarshalTo(data []byte) (int, error) { return m.MarshalToSizedBuffer(data) }

// protobufList is a list. The lists of all kinds are alike: metadata is field 1,
// the items are field 2.
func (e *encoder) protobufList(items []apiserver.Object, list metav1.ListMeta) ([]byte, error) {
	kind := e.kind.GroupVersion().WithKind(e.listKind)
	l := &listMessage{head: &list, items: make([]message, 0, len(items))}
	if e.format.is(asMetadataList) {
		kind = e.format.convert
	}
	for _, obj := range items {
		var item any = obj
		if e.format.is(asMetadataList) {
			item = metadataOf(obj)
		}
		m, ok := item.(message)
		if !ok {
			return nil, errNoProtobuf(item)
		}
		l.items = append(l.items, m)
	}
	return envelope(l, kind)
}

// listMessage is a list of any kind.
type listMessage struct {
	head  message
	items []message
	sizes []int // of the items; Size is slow
}

// Size implements message.
func (l *listMessage) Size() int {
	total := fieldSize(l.head.Size())
	l.sizes = make([]int, len(l.items))
	for i, item := range l.items {
		l.sizes[i] = item.Size()
		total += fieldSize(l.sizes[i])
	}
	return total
}

// MarshalToSizedBuffer implements message. It fills data from its end.
func (l *listMessage) MarshalToSizedBuffer(data []byte) (int, error) {
	end := len(data)
	for i := len(l.items) - 1; i >= 0; i-- {
		if _, err := l.items[i].MarshalToSizedBuffer(data[:end]); err != nil {
			return 0, err
		}
		end = prefix(data, end-l.sizes[i], l.sizes[i], 2)
	}
	size := l.head.Size()
	if _, err := l.head.MarshalToSizedBuffer(data[:end]); err != nil {
		return 0, err
	}
	return len(data) - prefix(data, end-size, size, 1), nil
}

// fieldSize is what a field of a message takes whose content has size bytes, if
// its number is below 16.
func fieldSize(size int) int { return 1 + varintSize(size) + size }

func varintSize(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// prefix writes the tag and the length of a field in front of its content, which
// begins at start, and returns where the field begins.
func prefix(data []byte, start, size int, field byte) int {
	begin := start - varintSize(size) - 1
	data[begin] = field<<3 | 2
	binary.PutUvarint(data[begin+1:start], uint64(size))
	return begin
}

// openEnvelope takes an object in protobuf out of its envelope.
func openEnvelope(data []byte) (*runtime.Unknown, error) {
	rest, ok := bytes.CutPrefix(data, protobufMagic)
	switch {
	case !ok:
		return nil, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", protobufMagic)
	case len(rest) == 0:
		return nil, errors.New("empty body")
	}
	unknown := &runtime.Unknown{}
	if err := unknown.Unmarshal(rest); err != nil {
		return nil, err
	}
	return unknown, nil
}

// protobufFrame is an event of a watch, with its length in front.
func protobufFrame(out *bytes.Buffer, kind string, object []byte) {
	raw := fieldSize(len(object)) // the RawExtension around the object
	size := fieldSize(len(kind)) + fieldSize(raw)
	var scratch [binary.MaxVarintLen64]byte
	head := binary.BigEndian.AppendUint32(scratch[:0], uint32(size))
	out.Grow(len(head) + size)
	out.Write(head)
	field := func(number byte, length int) {
		out.WriteByte(number<<3 | 2)
		out.Write(binary.AppendUvarint(scratch[:0], uint64(length)))
	}
	field(1, len(kind))
	out.WriteString(kind)
	field(2, raw)
	field(1, len(object))
	out.Write(object)
}
