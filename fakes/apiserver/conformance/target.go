package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// A Target is an API server under test.
type Target struct {
	// URL is where it is, without a path; the scheme and host mean nothing to a
	// Transport that goes nowhere.
	URL string

	// Transport makes the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper

	// Token authenticates as admin, a member of system:masters. Without it no
	// credentials are sent at all.
	Token string

	// Compact drops all history of the store but leaves watch caches alone;
	// Restart leaves nothing but the present state. Nil means that the steps
	// cannot be taken: cases with them do not run.
	Compact, Restart func(ctx context.Context) error

	// WebhookURL and WebhookCA (base64 PEM) are where the target reaches the
	// server of [Webhooks].
	WebhookURL, WebhookCA string

	// Lasting says that the target outlives the case, so what the case made
	// must be deleted at its end.
	Lasting bool

	// Unique makes the names of this run's namespaces different from those of
	// other runs on the same target: a few lower case letters and digits.
	Unique string
}

// Able tells why the target cannot take every step of c, or nil.
func (t *Target) Able(c *Case) error {
	for i := range c.Steps {
		switch verb := c.Steps[i].Verb; {
		case verb == "compact" && t.Compact == nil, verb == "restart" && t.Restart == nil:
			return fmt.Errorf("step %q: the target cannot %s", c.Steps[i].ID, verb)
		}
	}
	return nil
}

// send makes one request. The caller closes the response's body.
func (t *Target) send(ctx context.Context, r *request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	base := t.URL
	if base == "" {
		base = "http://server.invalid"
	}
	req, err := http.NewRequestWithContext(ctx, r.method, base+r.path, body)
	if err != nil {
		return nil, err
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	t.authenticate(req, r.as)
	transport := t.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	return transport.RoundTrip(req)
}

func (t *Target) authenticate(req *http.Request, as string) {
	switch as {
	case "anonymous":
		return
	case "badtoken":
		req.Header.Set("Authorization", "Bearer no-such-token")
		return
	case "":
	default:
		req.Header.Set("Impersonate-User", as)
	}
	if t.Token != "" {
		req.Header.Set("Authorization", "Bearer "+t.Token)
	}
}

// request is a step on its way to HTTP.
type request struct {
	method string
	path   string // with query
	header map[string]string
	body   []byte
	as     string
}

// resource is "apps/v1/deployments" taken apart.
type resource struct {
	group, version, plural string
}

func parseResource(s string) (resource, error) {
	switch parts := strings.Split(s, "/"); len(parts) {
	case 2:
		return resource{version: parts[0], plural: parts[1]}, nil
	case 3:
		return resource{group: parts[0], version: parts[1], plural: parts[2]}, nil
	}
	return resource{}, fmt.Errorf("resource %q is not [group/]version/plural", s)
}

// path of the resource, of one object if name is not empty.
func (r resource) path(namespace, name, subresource string) string {
	parts := []string{"api", r.version}
	if r.group != "" {
		parts = []string{"apis", r.group, r.version}
	}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	parts = append(parts, r.plural)
	if name != "" {
		parts = append(parts, name)
	}
	if subresource != "" {
		parts = append(parts, subresource)
	}
	return "/" + strings.Join(parts, "/")
}

var methods = map[string]string{
	"create": http.MethodPost, "get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet,
	"update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

func patchContentType(patch string) string {
	switch patch {
	case "json":
		return "application/json-patch+json"
	case "merge":
		return "application/merge-patch+json"
	case "strategic":
		return "application/strategic-merge-patch+json"
	case "apply":
		return "application/apply-patch+yaml"
	}
	return ""
}

// request builds the HTTP request of a step, with every ${…} replaced.
func (s *Step) request(sc *scope) (*request, error) {
	r := &request{header: map[string]string{
		"Accept": "application/json", "User-Agent": "case-runner/1.0",
	}}
	var err error
	if r.as, err = sc.text(s.As); err != nil {
		return nil, err
	}
	if s.Accept != "" {
		r.header["Accept"] = s.Accept
	}
	if s.UserAgent != "" {
		r.header["User-Agent"] = s.UserAgent
	}
	if s.Verb == "raw" {
		return r, s.rawRequest(r, sc)
	}
	r.method = methods[s.Verb]
	if r.path, err = s.resourcePath(sc); err != nil {
		return nil, err
	}
	if s.Body == nil {
		return r, nil
	}
	body, err := sc.value(s.Body)
	if err != nil {
		return nil, err
	}
	r.header["Content-Type"] = "application/json"
	if s.Verb == "patch" {
		r.header["Content-Type"] = patchContentType(s.Patch)
	}
	r.body, err = json.Marshal(body)
	return r, err
}

func (s *Step) rawRequest(r *request, sc *scope) (err error) {
	r.method = s.Method
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.path, err = sc.text(s.Path); err != nil {
		return err
	}
	if s.RawBody == nil {
		return nil
	}
	body, err := sc.text(*s.RawBody)
	if err != nil {
		return err
	}
	r.body = []byte(body)
	r.header["Content-Type"] = s.ContentType
	if s.ContentType == "" {
		r.header["Content-Type"] = "application/json"
	}
	return nil
}

func (s *Step) resourcePath(sc *scope) (string, error) {
	var parts [4]string
	for i, text := range []string{s.Resource, s.Namespace, s.Name, s.Subresource} {
		part, err := sc.text(text)
		if err != nil {
			return "", err
		}
		parts[i] = part
	}
	res, err := parseResource(parts[0])
	if err != nil {
		return "", err
	}
	query := url.Values{}
	if s.Verb == "watch" {
		query.Set("watch", "true")
	}
	for name, value := range s.Query {
		text, err := sc.text(fmt.Sprint(value))
		if err != nil {
			return "", err
		}
		query.Set(name, text)
	}
	path := res.path(parts[1], parts[2], parts[3])
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, nil
}
