package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readInto reads the body of a subresource, whose kind is not that of the
// resource, into a fresh object.
func (c *call) readInto(into Object, kind schema.GroupVersionKind) error {
	data := c.req.Body
	if c.req.Object != nil {
		var err error
		if data, err = json.Marshal(c.req.Object); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("encode %T: %v", c.req.Object, err))
		}
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(data, &meta); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%s)", kind.Kind, err, summary(data)))
	}
	if meta.Kind != "" && meta.Kind != kind.Kind {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: unknown conversion", meta.Kind, meta.APIVersion, kind.Kind))
	}
	if err := json.Unmarshal(data, into); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, kind.Kind, err))
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}

// created answers a subresource whose create makes nothing that can be read.
func created() *Response {
	return &Response{Code: http.StatusCreated, Status: &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}}
}
