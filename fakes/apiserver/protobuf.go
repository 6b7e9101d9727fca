package apiserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// protobufDepthMax is how deeply messages may be nested: as deeply as values in
// JSON. The decoders of generated types have no bound and would exhaust the stack,
// which ends the process. That of a real server ends at some hundred thousand.
const protobufDepthMax = 10_000

var (
	errTooDeep    = errors.New("exceeded max depth")
	errNoProtobuf = fmt.Errorf("object %T does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message", &unstructured.Unstructured{})
)

// tooDeep reports whether messages in data may be nested too deeply. Without their
// types a text is not told from a message, so every one is taken for a message as far
// as it can be one; texts of such a depth do not occur by chance.
func tooDeep(data []byte) bool {
	var ends []int // of the messages around the place that is looked at
	end, at := len(data), 0
	for {
		for at >= end { // the end of a message
			if len(ends) == 0 {
				return false
			}
			end, ends = ends[len(ends)-1], ends[:len(ends)-1]
		}
		tag, n := binary.Uvarint(data[at:end])
		size := uint64(0) // of what comes after the tag
		rest := uint64(end - at - max(n, 0))
		switch {
		case n <= 0:
			size = rest + 1
		case tag&7 == 0:
			_, length := binary.Uvarint(data[at+n : end])
			if size = uint64(length); length <= 0 {
				size = rest + 1
			}
		case tag&7 == 1:
			size = 8
		case tag&7 == 5:
			size = 4
		case tag&7 == 2:
			length, m := binary.Uvarint(data[at+n : end])
			if m <= 0 || length > rest-uint64(m) {
				size = rest + 1
				break
			}
			if len(ends) >= protobufDepthMax {
				return true
			}
			ends = append(ends, end)
			at += n + m
			end = at + int(length)
			continue
		case tag&7 > 5:
			size = rest + 1
		}
		if size > rest { // this is no message after all
			at = end
			continue
		}
		at += n + int(size)
	}
}

// parseProtobuf reads a body in protobuf. Kinds that the scheme does not know, such
// as definitions of custom resources, have a Go type all the same.
func (c *call) parseProtobuf(data []byte) (Object, *schema.GroupVersionKind, error) {
	if c.prototype() == nil {
		return nil, nil, errNoProtobuf
	}
	if tooDeep(data) {
		return nil, nil, errTooDeep
	}
	scheme := c.store.opts.Scheme
	var into runtime.Object
	if !scheme.Recognizes(c.ep.Served) {
		into = reflect.New(reflect.TypeOf(c.prototype()).Elem()).Interface().(runtime.Object)
	}
	obj, gvk, err := protobuf.NewSerializer(scheme, scheme).Decode(data, &c.ep.Served, into)
	switch {
	case into != nil && gvk != nil && *gvk != c.ep.Served:
		return nil, gvk, nil // of another kind, so what was read means nothing
	case err != nil:
		return nil, gvk, err
	}
	return obj.(Object), gvk, nil
}
