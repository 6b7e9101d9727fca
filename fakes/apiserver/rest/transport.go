package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	restclient "k8s.io/client-go/rest"
)

// stalled is how long a client may take nothing of what is sent to it before it
// is taken for dead.
const stalled = time.Minute

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := h.answer(r)
	if a.broken != nil {
		panic(http.ErrAbortHandler) // the client sees no more than that
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.code)
	if a.stream == nil {
		if len(a.body) == 0 {
			return // a write of nothing would be given a type
		}
		_, _ = w.Write(a.body) // the client is gone if this fails
		return
	}
	defer func() { _ = a.stream.Close() }() // it cannot fail
	a.stream.send(w)
}

// send writes frames until there are no more, or the client is gone or takes
// nothing for too long: nothing is held for a client that does not read.
func (b *watchBody) send(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	if c.Flush() != nil {
		return
	}
	for b.next() == nil {
		// Writers without deadlines are no sockets and do not block.
		limited := c.SetWriteDeadline(time.Now().Add(stalled)) == nil
		if _, err := w.Write(b.pending.Bytes()); err != nil {
			return
		}
		if c.Flush() != nil {
			return
		}
		if limited && c.SetWriteDeadline(time.Time{}) != nil {
			return
		}
	}
}

// RoundTrip implements http.RoundTripper: the request is answered in the
// calling goroutine, without a socket.
func (h *Handler) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.URL == nil {
		return nil, errors.New("the request has no URL")
	}
	a := h.answer(r)
	if a.broken != nil {
		return nil, a.broken
	}
	response := &http.Response{
		Status:     fmt.Sprintf("%d %s", a.code, http.StatusText(a.code)),
		StatusCode: a.code,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        a.header,
		ContentLength: -1,
		Request:       r,
	}
	if a.stream != nil {
		response.Body = a.stream
	} else {
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	}
	return response, nil
}

// Config is a client configuration whose requests this handler answers in
// process. It leaves it to each client whether it speaks JSON or protobuf, and
// sets no rate limit.
func (h *Handler) Config() *restclient.Config {
	return &restclient.Config{
		Host:      "http://apiserver.invalid", // never resolved
		Transport: h,
		QPS:       -1,
	}
}
