package cluster

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// This file makes the errors that a real client returns when there is no answer
// from the server: a *url.Error around what net/http or the kernel says. Code
// that tests them with utilnet.IsConnectionRefused and its siblings works on
// them as it does in production.

// serverAddr is where processes believe the API to be.
var serverAddr = &net.TCPAddr{IP: net.IPv4(10, 96, 0, 1), Port: 443}

const serverURL = "https://10.96.0.1:443"

// causes of a transport error.
var (
	errRefused  error = &net.OpError{Op: "dial", Net: "tcp", Addr: serverAddr, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errNoRoute  error = &net.OpError{Op: "dial", Net: "tcp", Addr: serverAddr, Err: os.ErrDeadlineExceeded} // prints "i/o timeout"
	errReset    error = &net.OpError{Op: "read", Net: "tcp", Addr: serverAddr, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	errConnLost       = errors.New("http2: client connection lost")
	errEOF            = io.EOF
)

// transportError wraps cause as net/http's client does.
func transportError(req *apiserver.Request, cause error) error {
	return &url.Error{Op: method(req.Verb), URL: requestURL(req), Err: cause}
}

// method is the HTTP method in the form that url.Error carries.
func method(v apiserver.Verb) string {
	switch v {
	case apiserver.Create:
		return "Post"
	case apiserver.Update:
		return "Put"
	case apiserver.Patch:
		return "Patch"
	case apiserver.Delete, apiserver.DeleteCollection:
		return "Delete"
	default:
		return "Get"
	}
}

// requestURL is the address a real client would have called, without the query.
func requestURL(req *apiserver.Request) string {
	var b strings.Builder
	b.WriteString(serverURL)
	if req.Resource.Group == "" {
		b.WriteString("/api/" + req.Resource.Version)
	} else {
		b.WriteString("/apis/" + req.Resource.Group + "/" + req.Resource.Version)
	}
	if req.Namespace != "" {
		b.WriteString("/namespaces/" + req.Namespace)
	}
	b.WriteString("/" + req.Resource.Resource)
	if req.Name != "" {
		b.WriteString("/" + req.Name)
	}
	if req.Subresource != "" {
		b.WriteString("/" + req.Subresource)
	}
	return b.String()
}

// retryAfter is how many seconds the answer asks the client to wait before it
// sends the request once more, as client-go's rest client does by itself: any
// 429 or 5xx that carries Retry-After, and broken connections of reads.
func retryAfter(req *apiserver.Request, err error) (seconds int, retry bool) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		s := status.Status()
		if s.Code != 429 && s.Code < 500 || s.Details == nil || s.Details.RetryAfterSeconds <= 0 {
			return 0, false
		}
		return int(s.Details.RetryAfterSeconds), true
	}
	if req.Verb.Write() {
		return 0, false
	}
	broken := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(err, errConnLost)
	return 1, broken
}

// outcome is the short form of an error for the story: "409 Conflict".
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		var ue *url.Error
		if errors.As(err, &ue) {
			return ue.Err.Error()
		}
		return err.Error()
	}
	s := status.Status()
	reason := string(s.Reason)
	if reason == "" {
		reason = string(metav1.StatusReasonUnknown)
	}
	return itoa(int(s.Code)) + " " + reason
}

// code is the HTTP code of an outcome for the trace; zero for transport errors.
func code(err error) uint64 {
	if err == nil {
		return 200
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return uint64(status.Status().Code)
	}
	return 0
}
