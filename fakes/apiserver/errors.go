package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// optimisticLock is how every conflict ends.
const optimisticLock = "the object has been modified; please apply your changes to the latest version and try again"

func statusError(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: details,
	}}
}

// errNoResource is the answer to a path that is not served.
func errNoResource() error {
	return statusError(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource", &metav1.StatusDetails{})
}

// errMethod is the answer to a verb that a path does not have.
func errMethod() error {
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource", &metav1.StatusDetails{})
}

// errPlain is a 500 without a reason: an error that nobody turned into a Status.
func errPlain(message string) error {
	return statusError(http.StatusInternalServerError, "", message, nil)
}

// errNotModelled refuses what a real server has and this one does not. It never
// happens with a real server, so a test that meets it cannot take it for an
// answer.
func errNotModelled(feature string) error {
	return statusError(http.StatusNotImplemented, "NotImplemented", "the fake API server does not model "+feature, &metav1.StatusDetails{})
}

// errOptions says that the options of a request are invalid.
func errOptions(kind string, errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

// errTooLarge is the answer to a read at a revision that the server has not yet
// reached. Of a kind without a watch cache it does not say when to ask again.
func errTooLarge(ep *endpoint, wanted, visible uint64) *apierrors.StatusError {
	again := 1
	if ep.Uncached {
		again = 0
	}
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, visible), again)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// errOtherUID is a conflict that the storage layer finds.
func (c *call) errOtherUID(k store.Key, wanted, found types.UID) error {
	key := "/" + storagePrefix(c.ep) + "/" + k.String()
	if !c.dryRun {
		key = "/registry" + key
	}
	return apierrors.NewConflict(c.ep.gr, k.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		key, wanted, found))
}

// storagePrefix is where a real server keeps the objects of a kind.
func storagePrefix(ep *endpoint) string {
	switch {
	case ep.Custom:
		return ep.gr.Group + "/" + ep.gr.Resource
	case ep.gr.Group == "apiextensions.k8s.io":
		return ep.gr.Group + "/" + ep.gr.Resource
	}
	if prefix, ok := storagePrefixes[ep.gr.Resource]; ok {
		return prefix
	}
	return ep.gr.Resource
}

var storagePrefixes = map[string]string{
	"services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions",
	"ingresses": "ingress", "replicationcontrollers": "controllers",
}

func (c *call) errNotFound() error { return apierrors.NewNotFound(c.ep.gr, c.req.Name) }

func (c *call) errConflict(name string) error {
	return apierrors.NewConflict(c.ep.gr, name, errors.New(optimisticLock))
}

// errInvalid names the stored kind, as validation does, and for a custom resource
// the kind that it says it is.
func (c *call) errInvalid(obj Object, errs field.ErrorList) error {
	kind := c.ep.GroupVersionKind.GroupKind()
	if own := obj.GetObjectKind().GroupVersionKind(); c.ep.Custom && !own.Empty() {
		kind = own.GroupKind()
	}
	return apierrors.NewInvalid(kind, obj.GetName(), errs)
}

// asStatus makes every error a Status.
func asStatus(err error) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status
	}
	return errPlain(err.Error())
}

// parseVersion parses a resourceVersion; empty is zero.
func parseVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseUint(s, 10, 64)
}
