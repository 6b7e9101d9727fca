package client

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Option changes a client.
type Option func(*Client)

// WithUser makes every request as user. Without it requests are made as the
// administrator.
func WithUser(user *apiserver.User) Option {
	return func(c *Client) { c.user = user }
}

// WithUserAgent names the program. The server calls a field manager after it
// when a write does not name one.
func WithUserAgent(name string) Option {
	return func(c *Client) { c.userAgent = name }
}

// WithoutManagedFields leaves metadata.managedFields out of all that is returned,
// as if the cache transform TransformStripManagedFields stood in between. A real
// server returns them, and so does the client without this option; but to work out
// who owns which field costs far more than any other call, and few programs care.
func WithoutManagedFields() Option {
	return func(c *Client) { c.noFields = true }
}

// WithWarnings calls fn with every warning that comes with an answer.
func WithWarnings(fn func(text string)) Option {
	return func(c *Client) { c.warn = fn }
}

// WithKinds says which kinds are served, for a Caller that cannot tell by itself
// with a method Store, as *apiserver.Server can.
func WithKinds(k Kinds) Option {
	return func(c *Client) { c.kinds.served = k }
}

// Client is a client.WithWatch. It is safe for concurrent use if its Caller is.
type Client struct {
	caller    apiserver.Caller
	scheme    *runtime.Scheme
	kinds     kinds
	user      *apiserver.User
	userAgent string
	noFields  bool
	warn      func(text string)
	converted conversions
}

var _ client.WithWatch = (*Client)(nil)

// New returns a client that makes its requests through caller. The scheme says
// which Go types stand for which kinds; kinds that it does not know can be used
// as unstructured.Unstructured.
//
// It panics if neither caller nor an option says which kinds there are, for then
// no object could be turned into a request.
func New(caller apiserver.Caller, scheme *runtime.Scheme, opts ...Option) *Client {
	c := &Client{caller: caller, scheme: scheme, userAgent: "seedbed"}
	c.kinds.types = typesOf(scheme)
	if source, ok := caller.(interface{ Store() *apiserver.Store }); ok {
		c.kinds.served = source.Store()
	}
	for _, opt := range opts {
		opt(c)
	}
	if c.kinds.served == nil {
		panic("client.New: the caller has no method Store; use the option WithKinds")
	}
	return c
}

// Scheme implements client.Client.
func (c *Client) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper implements client.Client. The mapper knows the kinds that the
// server serves at the moment of each question.
func (c *Client) RESTMapper() meta.RESTMapper { return mapper{c.kinds.served} }

// GroupVersionKindFor implements client.Client.
func (c *Client) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return c.kinds.types.kindOf(obj, c.scheme)
}

// IsObjectNamespaced implements client.Client.
func (c *Client) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	k, err := c.kind(obj)
	if err != nil {
		return false, err
	}
	return k.Namespaced, nil
}

// request starts a request about objects of kind k.
func (c *Client) request(verb apiserver.Verb, k *apiserver.Resource, namespace, name string) *apiserver.Request {
	if !k.Namespaced {
		namespace = ""
	}
	req := requests.Get().(*apiserver.Request)
	*req = apiserver.Request{
		Verb: verb, Resource: k.GVR(), Namespace: namespace, Name: name,
		Shared: true, ManagedFields: !c.noFields, User: c.user, UserAgent: c.userAgent,
	}
	return req
}

// requests are used again: they are big, and callers do not keep them.
var requests = sync.Pool{New: func() any { return new(apiserver.Request) }}

// call makes a request. The request must not be used afterwards.
func (c *Client) call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	resp, err := c.caller.Call(ctx, req)
	requests.Put(req)
	if err != nil {
		return nil, err
	}
	if c.warn != nil {
		for _, text := range resp.Warnings {
			c.warn(text)
		}
	}
	return resp, nil
}
