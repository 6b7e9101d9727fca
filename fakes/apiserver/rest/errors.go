package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusError is an error with just a code, a reason and a message.
func statusError(code int32, reason metav1.StatusReason, format string, args ...any) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf(format, args...),
	}}
}

// withDetails adds the empty details that answers of the router carry.
func withDetails(err *apierrors.StatusError) *apierrors.StatusError {
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// errNoResource is the answer to a path of a known group that leads nowhere.
func errNoResource() error {
	return withDetails(statusError(http.StatusNotFound, metav1.StatusReasonNotFound,
		"the server could not find the requested resource"))
}

func errMethod() error {
	return withDetails(statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource"))
}

func errUnauthorized() error {
	return statusError(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
}

func errContentType(accepted []string) error {
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: %s", strings.Join(accepted, ", "))
}

func errTooLarge() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
}

// errAccept is the refusal of an Accept header whose media types are known but
// whose conversion is not.
func errAccept(offered []string) error {
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: %s", strings.Join(offered, ", "))
}

// errMediaType is the refusal of an Accept header without any type that is offered;
// the real server's router words it.
func errMediaType(offered []string) error {
	return withDetails(statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: %s", strings.Join(offered, ", ")))
}

// errNotModelled refuses what a real server has and this one does not.
func errNotModelled(feature string) error {
	return withDetails(statusError(http.StatusNotImplemented, "NotImplemented", "the fake API server does not model %s", feature))
}

// errGone is the answer when the gate is closed: the server is no more.
func errGone(err error) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("the server is shutting down: %v", err))
}

// errPanic is the answer when the server's own code has failed. The real server
// says no more either: what is in a panic may be anybody's secret.
func errPanic(r *http.Request, cause any) error {
	return apierrors.NewInternalError(fmt.Errorf("panic while answering %s %s: %T", r.Method, r.URL.Path, cause))
}

// statusOf is the Status of any error; one that has none is an internal error.
func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		return apierrors.NewInternalError(err).Status()
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	return status
}
