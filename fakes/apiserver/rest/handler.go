package rest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Handler speaks HTTP for a server. It may be used by several goroutines at
// once if its Caller may.
type Handler struct {
	store  *apiserver.Store // only for what it serves
	caller apiserver.Caller
	tokens map[string]*apiserver.User
	clock  clock.PassiveClock
}

// Option changes a Handler.
type Option func(*Handler)

// WithCaller sends requests through caller instead of to the server directly,
// for instance through a simulated network. Discovery is not sent through it.
func WithCaller(caller apiserver.Caller) Option {
	return func(h *Handler) { h.caller = caller }
}

// WithTokens sets the bearer tokens that are known; a nil User is the
// administrator. Requests without a token are then anonymous, and unknown
// tokens are refused. Without this option every request is the
// administrator's, unless it impersonates somebody.
func WithTokens(tokens map[string]*apiserver.User) Option {
	return func(h *Handler) { h.tokens = tokens }
}

// WithClock sets the clock by which tables tell the age of objects; it matters
// to nothing else. The default is the real time.
func WithClock(c clock.PassiveClock) Option {
	return func(h *Handler) { h.clock = c }
}

// New returns a handler for server.
func New(server *apiserver.Server, opts ...Option) *Handler {
	h := &Handler{store: server.Store(), caller: server, clock: clock.RealClock{}}
	for _, opt := range opts {
		opt(h)
	}
	return h
}

// answer answers any request.
func (h *Handler) answer(r *http.Request) *answer {
	user, err := h.user(r)
	if err != nil {
		return errorAnswer(err)
	}
	t, ok := parseTarget(r.URL.Path)
	if !ok {
		if err := h.mayRead(r, user); err != nil {
			return errorAnswer(err)
		}
		return h.discovery(r)
	}
	a, err := h.resource(r, t, user)
	if err != nil {
		return errorAnswer(err)
	}
	return a
}

// resource answers a request for a resource.
func (h *Handler) resource(r *http.Request, t target, user *apiserver.User) (*answer, error) {
	kind, found := h.store.Lookup(t.resource)
	if !found {
		return h.unknown(r, t, user)
	}
	if t.misplaced(kind) {
		return nil, errNoResource()
	}
	f, err := negotiate(r)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	verb := t.verb(r.Method, wantsWatch(query))
	objectKind, err := allowed(kind, t, verb)
	if err != nil {
		return nil, err
	}
	req := &apiserver.Request{
		Verb: verb, Resource: t.resource, Subresource: t.subresource, Namespace: t.namespace, Name: t.name,
		Shared: true, User: user, UserAgent: r.UserAgent(),
	}
	if err := fill(r, req); err != nil {
		return nil, err
	}
	if err := setOptions(req, query); err != nil {
		return nil, err
	}
	e := &encoder{format: f, kind: objectKind}
	if f.convert == asTable {
		if e.table, err = readTableOptions(query, h.clock.Now()); err != nil {
			return nil, err
		}
	}
	if verb == apiserver.WatchVerb {
		return h.watch(r, req, e)
	}
	response, err := h.caller.Call(r.Context(), req)
	if err != nil {
		return nil, err
	}
	return respond(response, req, e)
}

// unknown answers for a resource that is not there: to whom it is forbidden,
// that; else see notServed.
func (h *Handler) unknown(r *http.Request, t target, user *apiserver.User) (*answer, error) {
	_, err := h.caller.Call(r.Context(), &apiserver.Request{
		Verb: t.verb(r.Method, wantsWatch(r.URL.Query())), Resource: t.resource, Subresource: t.subresource,
		Namespace: t.namespace, Name: t.name, User: user,
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return h.notServed(t.resource.GroupVersion())
}

// notServed answers for a group and version without such a resource. Built-in
// groups answer in JSON; where there is none, or only custom resources, the mux
// answers.
func (h *Handler) notServed(gv schema.GroupVersion) (*answer, error) {
	for _, r := range h.store.Resources() {
		if r.Group == gv.Group && !r.Custom {
			return nil, errNoResource()
		}
	}
	return plainAnswer(http.StatusNotFound, "404 page not found\n"), nil
}

// misplaced tells that no object of the kind is under such a path.
func (t target) misplaced(kind *apiserver.Resource) bool {
	if !kind.Namespaced {
		return t.namespace != ""
	}
	return t.namespace == "" && t.name != ""
}

// allowed finds the kind of what the request is about, refusing methods that
// the resource or subresource does not have.
func allowed(res *apiserver.Resource, t target, verb apiserver.Verb) (schema.GroupVersionKind, error) {
	verbs, gvk := res.Verbs, res.GVK()
	if t.subresource != "" {
		i := slices.IndexFunc(res.Subresources, func(s apiserver.Subresource) bool { return s.Name == t.subresource })
		if i < 0 {
			// The server words this one: for a custom resource it names the object.
			return gvk, nil
		}
		verbs, gvk = res.Subresources[i].Verbs, res.Subresources[i].Kind
	}
	// A collection without its namespace can only be read.
	if res.Namespaced && t.namespace == "" && verb != apiserver.List && verb != apiserver.WatchVerb {
		return gvk, errMethod()
	}
	if !slices.Contains(verbs, string(verb)) {
		return gvk, errMethod()
	}
	return gvk, nil
}

// fill reads the body, as the verb needs it.
func fill(r *http.Request, req *apiserver.Request) (err error) {
	switch req.Verb {
	case apiserver.Create, apiserver.Update:
		if req.ContentType, err = objectType(r); err != nil {
			return err
		}
		req.Body, err = readBody(r)
	case apiserver.Patch:
		req.PatchType = patchType(r)
		req.Body, err = readBody(r)
	case apiserver.Delete, apiserver.DeleteCollection:
		req.DeleteOptions, err = deleteOptions(r)
	}
	return err
}

func (h *Handler) watch(r *http.Request, req *apiserver.Request, e *encoder) (*answer, error) {
	stream, err := h.caller.OpenWatch(r.Context(), req)
	if err != nil {
		return nil, err
	}
	return &answer{
		code:   http.StatusOK,
		header: contentType("application/json"),
		stream: newWatchBody(r.Context(), stream, e, req),
	}, nil
}

// respond writes a response down.
func respond(response *apiserver.Response, req *apiserver.Request, e *encoder) (*answer, error) {
	var body []byte
	var err error
	switch {
	case response.Status != nil:
		body, err = encodeStatus(*response.Status)
	case response.Object != nil:
		body, err = e.object(response.Object)
	case req.Verb == apiserver.List || req.Verb == apiserver.DeleteCollection:
		body, err = e.list(response.Items, response.List)
	}
	if err != nil {
		return nil, err
	}
	a := &answer{code: response.Code, header: contentType("application/json"), body: body}
	if e.format.yaml {
		if a.body, err = yaml.JSONToYAML(body); err != nil {
			return nil, err
		}
		a.header = contentType("application/yaml")
	}
	for _, text := range response.Warnings {
		if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			a.header.Add("Warning", header)
		}
	}
	return a, nil
}

func encodeStatus(status metav1.Status) ([]byte, error) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return json.Marshal(&status)
}

// errorAnswer is an error as a Status.
func errorAnswer(err error) *answer {
	status := statusOf(err)
	body, err := encodeStatus(status)
	if err != nil {
		return plainAnswer(http.StatusInternalServerError, err.Error())
	}
	a := &answer{code: int(status.Code), header: contentType("application/json"), body: body}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		a.header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	return a
}

func plainAnswer(code int, text string) *answer {
	return &answer{code: code, header: contentType("text/plain; charset=utf-8"), body: []byte(text)}
}

func contentType(kind string) http.Header {
	return http.Header{"Content-Type": {kind}, "Cache-Control": {"no-cache, private"}}
}

var (
	_ http.Handler      = (*Handler)(nil)
	_ http.RoundTripper = (*Handler)(nil)
)
