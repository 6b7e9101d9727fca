package rest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	restclient "k8s.io/client-go/rest"
)

// answer is a response before it is written.
type answer struct {
	code   int
	header http.Header
	body   []byte
	stream io.ReadCloser // instead of body: a watch
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := h.answer(r)
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.code)
	if a.stream == nil {
		_, _ = w.Write(a.body) // the client is gone if this fails
		return
	}
	defer a.stream.Close()
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	buffer := make([]byte, 32*1024)
	for {
		n, err := a.stream.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return
			}
			_ = flush.Flush()
		}
		if err != nil {
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
	a := h.answer(r)
	response := &http.Response{
		Status:     fmt.Sprintf("%d %s", a.code, http.StatusText(a.code)),
		StatusCode: a.code,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        a.header,
		Body:          a.stream,
		ContentLength: -1,
		Request:       r,
	}
	if a.stream == nil {
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	}
	return response, nil
}

// Config is a client configuration whose requests this handler answers in
// process. It asks for JSON, which is all that the handler speaks, and sets no
// rate limit.
func (h *Handler) Config() *restclient.Config {
	return &restclient.Config{
		Host:      "http://apiserver.invalid", // never resolved
		Transport: h,
		QPS:       -1,
		ContentConfig: restclient.ContentConfig{
			ContentType:        runtime.ContentTypeJSON,
			AcceptContentTypes: runtime.ContentTypeJSON,
		},
	}
}
