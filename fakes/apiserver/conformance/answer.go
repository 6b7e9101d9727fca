package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// An Answer is what a server said to one step.
type Answer struct {
	Code       int
	Warnings   []string
	RetryAfter string
	// Body is the decoded JSON body, numbers as json.Number; nil when the body
	// is Text.
	Body any
	Text string
}

// Event is one event of a watch, as it came.
type Event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// readAnswer reads and closes a response.
func readAnswer(resp *http.Response) (*Answer, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	a := newAnswer(resp)
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	// The index of the OpenAPI documents is JSON that says it were plain text.
	if kind == "application/json" || bytes.HasPrefix(data, []byte("{")) && json.Valid(data) {
		if err := decode(bytes.NewReader(data), &a.Body); err != nil {
			return nil, fmt.Errorf("answer is no JSON: %w", err)
		}
		return a, nil
	}
	a.Text = string(data)
	return a, nil
}

func newAnswer(resp *http.Response) *Answer {
	return &Answer{
		Code:       resp.StatusCode,
		Warnings:   warnings(resp.Header),
		RetryAfter: resp.Header.Get("Retry-After"),
	}
}

// decode reads one JSON value and keeps numbers as they are written.
func decode(r io.Reader, into any) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	return d.Decode(into)
}

// warnings are the texts of `Warning: 299 - "text"` headers.
func warnings(h http.Header) []string {
	var out []string
	for _, value := range h.Values("Warning") {
		_, quoted, found := strings.Cut(value, `"`)
		if !found {
			continue
		}
		text := strings.TrimSuffix(quoted, `"`)
		out = append(out, strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text))
	}
	return out
}

// brief is what a report shows of an unexpected answer.
func (a *Answer) brief() string {
	if status, ok := a.Body.(map[string]any); ok {
		if message, ok := status["message"].(string); ok {
			return message
		}
		return ""
	}
	return a.Text
}
