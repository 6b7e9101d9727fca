package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/patch"
)

// Handler speaks HTTP for a server. It may be used by several goroutines at
// once; see [Gate] for how they reach the server.
type Handler struct {
	server *apiserver.Server
	store  *apiserver.Store // only for what it serves
	caller apiserver.Caller // nil: the server itself
	gate   Gate
	known  bool // requests are those of who shows a token
	clock  clock.PassiveClock
	shared encodings // of watch events

	openapi openAPICache
}

// Option changes a Handler.
type Option func(*Handler)

// WithCaller sends requests through caller instead of to the server directly,
// for instance through a simulated network. It may be called by several
// goroutines at once, and its responses stay good. Discovery is not sent through
// it.
func WithCaller(caller apiserver.Caller) Option {
	return func(h *Handler) { h.caller = caller }
}

// WithTokens sets the bearer tokens that are known beside those of service
// accounts, for all handlers of the store; a nil User is the administrator.
// Requests without a token are then anonymous, and unknown tokens are refused.
// Without this option every request is the administrator's, unless it impersonates
// somebody.
func WithTokens(tokens map[string]*apiserver.User) Option {
	return func(h *Handler) {
		h.known = true
		h.store.Trust(tokens)
	}
}

// WithClock sets the clock by which tables tell the age of objects; it matters
// to nothing else. The default is the real time.
func WithClock(c clock.PassiveClock) Option {
	return func(h *Handler) { h.clock = c }
}

// New returns a handler for server.
func New(server *apiserver.Server, opts ...Option) *Handler {
	h := &Handler{server: server, store: server.Store(), gate: open, clock: clock.RealClock{}}
	for _, opt := range opts {
		opt(h)
	}
	return h
}

// answer answers any request. What goes wrong within is a 500, as it is with a
// real server: one request must not end all the others.
func (h *Handler) answer(r *http.Request) (a *answer) {
	defer func() {
		if cause := recover(); cause != nil {
			a = errorAnswer(r, errPanic(r, cause))
		}
	}()
	user, err := h.user(r)
	if err != nil {
		return errorAnswer(r, err)
	}
	t, ok := parseTarget(r.URL.Path)
	if !ok {
		if err := h.mayRead(r, user); err != nil {
			return errorAnswer(r, err)
		}
		return h.document(r)
	}
	a, err = h.resource(r, t, user)
	if err != nil {
		return errorAnswer(r, err)
	}
	return a
}

// resource answers a request for a resource.
func (h *Handler) resource(r *http.Request, t target, user *apiserver.User) (*answer, error) {
	kind, err := h.lookup(r.Context(), t.resource)
	if err != nil {
		return nil, err
	}
	if kind == nil {
		return h.unknown(r, t, user)
	}
	query := r.URL.Query()
	verb := t.verb(r.Method, wantsWatch(query))
	if kind.Custom {
		if verb = t.customVerb(r.Method, wantsWatch(query)); verb == apiserver.Create && t.subresource == "" {
			t.name = "" // nobody looks at it
		}
	}
	switch misplaced := t.misplaced(kind, verb); {
	case misplaced && kind.Custom:
		return notFound(), nil
	case misplaced:
		return nil, errNoResource()
	case !kind.Custom && !t.leads(kind):
		return h.unknown(r, t, user)
	}
	objectKind, err := allowed(kind, t, verb)
	if err != nil {
		return nil, err
	}
	if err := t.checkTarget(r, kind, verb); err != nil {
		return nil, err
	}
	f, err := accepted(r, kind, verb)
	if err != nil {
		return nil, err
	}
	req := &apiserver.Request{
		Verb: verb, Resource: t.resource, Subresource: t.subresource, Namespace: t.namespace, Name: t.name,
		Shared: true, ManagedFields: true, User: user, UserAgent: r.UserAgent(),
	}
	if err := fill(r, req); err != nil {
		return nil, err
	}
	if err := setOptions(req, query); err != nil {
		return nil, err
	}
	e := &encoder{format: f, kind: objectKind, listKind: kind.ListKind, custom: kind.Custom}
	if f.is(asTable) {
		if e.table, err = h.tableOptions(r.Context(), query, kind, t); err != nil {
			return nil, err
		}
	}
	if verb == apiserver.WatchVerb {
		a, err := h.watch(r, req, e)
		if err == nil && kind.Deprecation != "" {
			a.warn(&apiserver.Response{Warnings: []string{kind.Deprecation}})
		}
		return a, err
	}
	response, err := h.call(r.Context(), req)
	if err != nil {
		a := errorAnswer(r, err)
		a.warn(response)
		return a, nil
	}
	return respond(r, response, req, e)
}

// lookup describes a resource; it is nil if there is none.
func (h *Handler) lookup(ctx context.Context, gvr schema.GroupVersionResource) (kind *apiserver.Resource, err error) {
	gone := h.gate(ctx, func() { kind, _ = h.store.Lookup(gvr) })
	if gone != nil {
		return nil, errGone(gone)
	}
	return kind, nil
}

// resources describes everything that is served.
func (h *Handler) resources(ctx context.Context) (all []apiserver.Resource, err error) {
	if gone := h.gate(ctx, func() { all = h.store.Resources() }); gone != nil {
		return nil, errGone(gone)
	}
	return all, nil
}

// checkTarget refuses a patch in no known form, and then a write to nothing: a custom
// resource has no router in front which knows that a collection is not written to.
func (t target) checkTarget(r *http.Request, kind *apiserver.Resource, verb apiserver.Verb) error {
	if verb == apiserver.Patch {
		if err := patch.CheckType(patchType(r), kind.Custom); err != nil {
			return err
		}
	}
	if t.name == "" && (verb == apiserver.Update || verb == apiserver.Patch) {
		return apierrors.NewBadRequest("name must be provided")
	}
	return nil
}

// accepted negotiates the form of the answer. Built-in groups have a router in
// front, which words some refusals itself.
func accepted(r *http.Request, kind *apiserver.Resource, verb apiserver.Verb) (format, error) {
	if !kind.Custom && !routerAccepts(r, mediaTypes) {
		return format{}, errMediaType(routerTypes(verb))
	}
	f, ok := negotiate(r, resourceOffer(kind))
	switch {
	case verb == apiserver.WatchVerb && (!ok || f.media == asYAML):
		return format{}, errAccept(streamTypes)
	case !ok:
		return format{}, errAccept(mediaTypes)
	}
	return f, nil
}

// routerTypes are those that the router says it offers to a verb.
func routerTypes(verb apiserver.Verb) []string {
	if verb == apiserver.List || verb == apiserver.WatchVerb {
		return slices.Concat(mediaTypes, streamTypes)
	}
	return mediaTypes
}

// unknown answers for a resource that is not there: to whom it is forbidden,
// that; else see notServed.
func (h *Handler) unknown(r *http.Request, t target, user *apiserver.User) (*answer, error) {
	_, err := h.call(r.Context(), &apiserver.Request{
		Verb: t.verb(r.Method, wantsWatch(r.URL.Query())), Resource: t.resource, Subresource: path.Join(t.subresource, t.rest),
		Namespace: t.namespace, Name: t.name, User: user,
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	return h.notServed(r.Context(), t.resource.GroupVersion())
}

// notServed answers for a group and version without such a resource. Built-in
// groups answer in JSON; where there is none, or only custom resources, the mux
// answers.
func (h *Handler) notServed(ctx context.Context, gv schema.GroupVersion) (*answer, error) {
	all, err := h.resources(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Group == gv.Group && !all[i].Custom {
			return nil, errNoResource()
		}
	}
	return notFound(), nil
}

// misplaced tells that no object of the kind is under such a path. A collection of
// custom resources in all namespaces is there for those who read it alone.
func (t target) misplaced(kind *apiserver.Resource, verb apiserver.Verb) bool {
	switch {
	case !kind.Namespaced:
		return t.namespace != ""
	case t.namespace != "":
		return false
	}
	return t.name != "" || kind.Custom && verb != apiserver.List && verb != apiserver.WatchVerb
}

// leads tells that the path leads to a subresource, or to none and no further.
func (t target) leads(kind *apiserver.Resource) bool {
	if t.subresource == "" {
		return true
	}
	known := slices.ContainsFunc(kind.Subresources, func(s apiserver.Subresource) bool { return s.Name == t.subresource })
	return known && (t.rest == "" || t.subresource == "proxy")
}

// allowed finds the kind of what the request is about, refusing methods that
// the resource or subresource does not have.
func allowed(res *apiserver.Resource, t target, verb apiserver.Verb) (schema.GroupVersionKind, error) {
	verbs, gvk := res.Verbs, res.GVK()
	if t.subresource != "" {
		i := slices.IndexFunc(res.Subresources, func(s apiserver.Subresource) bool { return s.Name == t.subresource })
		if i < 0 { // of a custom resource: see leads
			return gvk, apierrors.NewNotFound(t.resource.GroupResource(), t.name)
		}
		verbs, gvk = res.Subresources[i].Verbs, res.Subresources[i].Kind
	}
	switch {
	case res.Custom && !slices.Contains(verbs, string(verb)):
		return gvk, apierrors.NewMethodNotSupported(t.resource.GroupResource(), string(verb))
	case res.Namespaced && t.namespace == "" && verb != apiserver.List && verb != apiserver.WatchVerb:
		return gvk, errMethod() // a collection without its namespace can only be read
	case slices.Contains(verbs, string(verb)):
		return gvk, nil
	case t.name != "" && t.subresource == "" && !slices.ContainsFunc(verbs, ofOne):
		return gvk, errNoResource() // there are no objects with names
	}
	return gvk, errMethod()
}

// ofOne tells that a verb is about one object, by its name.
func ofOne(verb string) bool {
	return slices.Contains([]apiserver.Verb{apiserver.Get, apiserver.Update, apiserver.Patch, apiserver.Delete}, apiserver.Verb(verb))
}

// fill reads the body, as the verb needs it.
func fill(r *http.Request, req *apiserver.Request) (err error) {
	switch req.Verb {
	case apiserver.Create, apiserver.Update:
		if req.ContentType, err = objectType(r); err != nil {
			return err
		}
		req.Body, err = readBody(r)
	case apiserver.Get:
		if req.Subresource == "log" {
			req.Logs, err = logOptions(r.URL.Query())
		}
	case apiserver.Patch:
		req.PatchType = patchType(r)
		req.Body, err = readBody(r)
	case apiserver.Delete, apiserver.DeleteCollection:
		req.DeleteOptions, err = deleteOptions(r)
	}
	return err
}

// respond writes a response down.
func respond(r *http.Request, response *apiserver.Response, req *apiserver.Request, e *encoder) (*answer, error) {
	var body []byte
	var err error
	switch {
	case response.Raw != nil:
		return &answer{code: response.Code, header: contentType("text/plain"), body: response.Raw}, nil
	case response.Status != nil:
		body, err = e.format.status(*response.Status)
	case response.Object != nil:
		body, err = e.object(response.Object)
	case req.Verb == apiserver.List || req.Verb == apiserver.DeleteCollection:
		body, err = e.list(response.Items, response.List)
	}
	if err != nil {
		return nil, err
	}
	a, err := write(r, response.Code, &e.format, body)
	if err != nil {
		return nil, err
	}
	a.warn(response)
	return a, nil
}

// warn adds the warnings of a response, which may be nil.
func (a *answer) warn(response *apiserver.Response) {
	if response == nil {
		return
	}
	for _, text := range response.Warnings {
		if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			a.header.Add("Warning", header)
		}
	}
}

// errorAnswer is an error as a Status, in a form that the client takes.
func errorAnswer(r *http.Request, err error) *answer {
	var broken *url.Error // what a caller that is a network says
	if errors.As(err, &broken) {
		return &answer{broken: broken.Err}
	}
	status := statusOf(err)
	f, ok := negotiate(r, plainOffer)
	if !ok {
		f = format{pretty: true}
	}
	body, err := f.status(status)
	if err != nil {
		return plainAnswer(http.StatusInternalServerError, err.Error())
	}
	a, err := write(r, int(status.Code), &f, body)
	if err != nil {
		return plainAnswer(http.StatusInternalServerError, err.Error())
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		a.header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	return a
}

var (
	_ http.Handler      = (*Handler)(nil)
	_ http.RoundTripper = (*Handler)(nil)
)
