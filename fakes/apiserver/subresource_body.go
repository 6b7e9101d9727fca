package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// readInto reads the body of a subresource, whose kind is not that of the
// resource, into a fresh object.
func (c *call) readInto(into Object, kind schema.GroupVersionKind) error {
	data, contentType := c.req.Body, c.req.ContentType
	if c.req.Object != nil {
		var err error
		if data, err = json.Marshal(c.req.Object); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("encode %T: %v", c.req.Object, err))
		}
		contentType = ""
	}
	if contentType == mediaProtobuf {
		return c.readProtobuf(data, into, kind)
	}
	if contentType == mediaYAML {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind.Kind, err, summary(data)))
		}
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(data, &meta); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%s)", kind.Kind, err, summary(data)))
	}
	if meta.Kind != "" && meta.Kind != kind.Kind {
		return c.errOtherKind(meta.APIVersion, meta.Kind, kind)
	}
	if c.ep.Custom && meta.APIVersion != "" && meta.APIVersion != kind.GroupVersion().String() {
		return errUnregistered(kind)
	}
	if err := c.readStrictly(data, into); err != nil {
		if c.ep.Custom {
			return errUnregistered(kind)
		}
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, kind.Kind, err))
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}

// readStrictly reads JSON into an object, minding how strict the request wants it.
func (c *call) readStrictly(data []byte, into Object) error {
	complaints, err := kjson.UnmarshalStrict(data, into)
	if err != nil || !c.strict() {
		return err
	}
	return c.heed(complaints)
}

// readProtobuf is readInto for protobuf, whose envelope says what it holds.
func (c *call) readProtobuf(data []byte, into Object, kind schema.GroupVersionKind) error {
	rest, ok := bytes.CutPrefix(data, []byte("k8s\x00"))
	var sent runtime.Unknown
	m, known := into.(interface{ Unmarshal([]byte) error })
	if !ok || !known || tooDeep(data) || sent.Unmarshal(rest) != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): not a protobuf message (%s)", kind.Kind, summary(data)))
	}
	if sent.Kind != "" && sent.Kind != kind.Kind {
		return c.errOtherKind(sent.APIVersion, sent.Kind, kind)
	}
	if err := m.Unmarshal(sent.Raw); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, kind.Kind, err))
	}
	return nil
}

func (c *call) errOtherKind(apiVersion, kind string, wanted schema.GroupVersionKind) error {
	if c.ep.Custom {
		return errUnregistered(wanted)
	}
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	if apiVersion == "" {
		gvk = wanted.GroupVersion().WithKind(kind)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", kind, gvk.Version, wanted.Kind, c.notThe(gvk, wanted)))
}

// notThe says why an object of one kind is not taken for one of another.
func (c *call) notThe(sent, wanted schema.GroupVersionKind) string {
	if c.store.opts.Scheme.Recognizes(sent) {
		return fmt.Sprintf("converting (%s.%s) to (%s.%s): unknown conversion", sent.Version, sent.Kind, internalGroup(wanted.Group), wanted.Kind)
	}
	return fmt.Sprintf("no kind %q is registered for version %q in scheme %q", sent.Kind, sent.GroupVersion(), realScheme)
}

// errUnregistered is all that a server of custom resources says of a scale that it
// cannot read.
func errUnregistered(wanted schema.GroupVersionKind) error {
	return apierrors.NewBadRequest(fmt.Sprintf("no kind is registered for the type %s.%s in scheme %q", wanted.Version, wanted.Kind, realScheme))
}

// created answers a subresource whose create makes nothing that can be read.
func created() *Response {
	return &Response{Code: http.StatusCreated, Status: &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}}
}
