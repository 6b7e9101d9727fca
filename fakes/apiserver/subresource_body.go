package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	obj, gvk, err := c.decoder(contentType).Decode(data, &kind, into)
	var complaints []error
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		complaints, err = strict.Errors(), nil
	}
	switch {
	case gvk == nil || gvk.Kind == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind.Kind, err, summary(data)))
	case c.ep.Custom && (err != nil || *gvk != kind):
		return errUnregistered(kind)
	case err != nil && !runtime.IsNotRegisteredError(err):
		return errNotThe(*gvk, kind, err.Error())
	case gvk.Kind != kind.Kind || err != nil:
		return errNotThe(*gvk, kind, c.notThe(*gvk, kind))
	case *gvk != kind:
		if err := convert(obj, into); err != nil {
			return errNotThe(*gvk, kind, err.Error())
		}
	}
	if err := c.heed(complaints); err != nil {
		if c.ep.Custom {
			return errUnregistered(kind)
		}
		return errNotThe(*gvk, kind, err.Error())
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}

// convert reads obj, of another version of the same kind, as what into is. Those
// kinds that subresources take have the same fields in all versions.
func convert(obj runtime.Object, into Object) error {
	data, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("encode %T: %w", obj, err)
	}
	return json.Unmarshal(data, into)
}

func errNotThe(sent, wanted schema.GroupVersionKind, why string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", sent.Kind, sent.Version, wanted.Kind, why))
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
