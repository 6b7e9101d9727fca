package rest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// answer is a response before it is sent.
type answer struct {
	code   int
	header http.Header
	body   []byte
	stream *watchBody // instead of body

	// broken is how the connection breaks, instead of any answer.
	broken error
}

// gzipThreshold is the size, in bytes, above which an answer is compressed for
// clients that take that.
const gzipThreshold = 128 << 10

// write makes an answer of what has been encoded in the format.
func write(r *http.Request, code int, f *format, data []byte) (*answer, error) {
	body, err := f.finish(data)
	if err != nil {
		return nil, err
	}
	a := &answer{code: code, header: contentType(f.media.String()), body: body}
	return a, a.compress(r)
}

// compress compresses a large body if the client takes that.
func (a *answer) compress(r *http.Request) error {
	if len(a.body) <= gzipThreshold || !takesGzip(r) {
		return nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("compress an answer: %w", err)
	}
	if _, err := w.Write(a.body); err != nil {
		return fmt.Errorf("compress an answer: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("compress an answer: %w", err)
	}
	a.body = out.Bytes()
	a.header.Set("Content-Encoding", "gzip")
	a.header.Add("Vary", "Accept-Encoding")
	return nil
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, _, _ := strings.Cut(part, ";"); strings.TrimSpace(name) == "gzip" {
			return true
		}
	}
	return false
}

// jsonAnswer is a document that is no API object.
func jsonAnswer(v any) *answer {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return plainAnswer(http.StatusInternalServerError, err.Error())
	}
	return &answer{code: http.StatusOK, header: contentType("application/json"), body: body}
}

func plainAnswer(code int, text string) *answer {
	return &answer{code: code, header: contentType("text/plain; charset=utf-8"), body: []byte(text)}
}

// notFound is the answer of the mux where nothing is.
func notFound() *answer {
	a := plainAnswer(http.StatusNotFound, "404 page not found\n")
	a.header.Set("X-Content-Type-Options", "nosniff")
	return a
}

func contentType(kind string) http.Header {
	return http.Header{"Content-Type": {kind}, "Cache-Control": {"no-cache, private"}}
}
