package apiserver

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// call is one request on its way through the server.
type call struct {
	*Server
	req        *Request
	ep         *endpoint
	base       Object // the stored object that an update is computed from, in the version in which it is stored
	ns         string // empty for cluster-scoped kinds
	warnings   []string
	dryRun     bool
	unadmitted bool             // no admission hook is asked
	creating   bool             // by a request that is no create
	raw        bool             // what is written is not as it is read
	uncoerced  bool             // what is written is as it was applied
	unique     bool             // the body of the apply has no key twice
	ruled      bool             // rules is filled in
	rules      registry.Context // what the rules of the kind may know
	hear       func(string)     // warn, bound
	own        ownership        // of the fields of what is written or read
	answered   Response         // the answer, if it is a single object
	took       time.Duration    // how long was waited for KMS plugins, and for the watch cache
}

// Work is the room that answering one request takes. A driver that makes very
// many requests keeps one and uses it again; see [Server.DoIn].
type Work struct{ call call }

// Took is how long the answer to the last request took because values are sealed: the
// server waited for a KMS plugin, or for its watch cache. It does not really wait; whoever
// drives it lets the time pass.
func (w *Work) Took() time.Duration { return w.call.took }

// Do answers a request other than a watch. The error is always an
// *apierrors.StatusError with the reason, code, message and details of a real
// server. The package documentation lists the order of checks for each verb.
//
// What the response holds:
//
//	get, create, update, patch   Object
//	list, deletecollection       Items and List
//	delete                       Object if the object is still there, or if the
//	                             kind returns it; otherwise Status
//
// With an error there may be a response too, which holds nothing but warnings.
func (s *Server) Do(req *Request) (*Response, error) { return s.DoIn(new(Work), req) }

// DoIn is Do in a room of the caller's: it allocates less. The response is good
// until w is used again.
func (s *Server) DoIn(w *Work, req *Request) (*Response, error) {
	c := &w.call
	known := c.ep
	if c.Server != s || known == nil || known.Resource() != req.Resource || known.gone.Load() {
		known = nil
	}
	*c = call{Server: s, req: req, ep: known, hear: c.hear}
	if err := c.resolve(); err != nil {
		return nil, err
	}
	r, err := c.dispatch()
	c.own.draft.Drop()
	if err != nil {
		return c.warned(), asStatus(err)
	}
	r.Warnings = c.warnings
	if c.ep.defines && req.Verb.Write() && !c.dryRun {
		if name := c.concernsDefinition(r); name != "" {
			s.attend(name)
		}
	}
	return r, nil
}

// resolve finds the resource, and refuses who may not use it and what nobody can
// do with it.
func (c *call) resolve() error {
	ep, ok := c.ep, c.ep != nil // of the request before, if it is the same
	if !ok {
		ep, ok = c.store.endpoint(c.req.Resource)
	}
	if err := c.authorize(ep); err != nil {
		return err
	}
	if !ok {
		return errNoResource()
	}
	c.ep, c.ns = ep, c.req.Namespace
	if ep.Deprecation != "" {
		c.warn(ep.Deprecation)
	}
	if ep.Cluster {
		c.ns = ""
		return nil
	}
	if c.ns == "" {
		switch c.req.Verb {
		case List, WatchVerb:
		case Create, DeleteCollection:
			return errMethod() // POST and DELETE on all namespaces at once
		default:
			return errNoResource() // no such path
		}
	}
	return nil
}

func (c *call) authorize(ep *endpoint) error {
	if c.req.User == nil || c.store.opts.Authorizer == nil {
		return nil
	}
	a := &authz.Attributes{
		User: c.req.User, Verb: string(c.req.Verb), Group: c.req.Resource.Group, Resource: c.req.Resource.Resource,
		Subresource: c.req.Subresource, Namespace: c.req.Namespace, Name: c.req.Name,
	}
	switch c.req.Verb {
	case List, WatchVerb:
		a.Name = exactName(c.req)
	case Create:
		if c.req.Subresource == "" {
			a.Name = ""
		}
	}
	if ep != nil && ep.Cluster {
		a.Namespace = ""
		if a.Group == "" && a.Resource == "namespaces" && c.req.Verb != List && c.req.Verb != WatchVerb && c.req.Verb != DeleteCollection {
			a.Namespace = a.Name // by its path an object of this kind is in itself: a RoleBinding there counts
		}
	}
	if ok, reason := c.store.opts.Authorizer.Authorize(a); !ok {
		if c.store.opts.Refused != nil {
			c.store.opts.Refused(a)
		}
		return authz.Forbidden(a, reason)
	}
	return nil
}

func (c *call) dispatch() (*Response, error) {
	switch {
	case c.ep.Refused:
		return nil, errNotModelled(c.ep.gr.String())
	case c.ep.Virtual != nil:
		return c.dispatchVirtual()
	}
	if c.req.Subresource != "" {
		return c.dispatchSubresource()
	}
	switch c.req.Verb {
	case Get:
		return c.get()
	case List:
		return c.list()
	case Create:
		return c.create()
	case Update:
		return c.update(&mainTarget)
	case Patch:
		return c.patch(&mainTarget)
	case Delete:
		return c.delete()
	case DeleteCollection:
		return c.deleteCollection()
	default:
		return nil, errMethod()
	}
}

// warned is the response that goes with an error: warnings, or nil if there are
// none.
func (c *call) warned() *Response {
	if len(c.warnings) == 0 {
		return nil
	}
	return &Response{Warnings: c.warnings}
}

func (c *call) key() store.Key { return store.Key{Namespace: c.ns, Name: c.req.Name} }

func (c *call) warn(text string) { c.warnings = append(c.warnings, text) }

// now returns the server's time in whole seconds.
func (s *Server) now() metav1.Time {
	return metav1.Time{Time: time.Unix(s.store.opts.Clock.Now().Unix(), 0).UTC()}
}

// rulesContext returns what the rules of the kind may know.
func (c *call) rulesContext() *registry.Context {
	if !c.ruled {
		if c.hear == nil {
			c.hear = c.warn
		}
		c.ruled = true
		c.rules = registry.Context{
			Now: c.now(), Version: c.ep.Served.GroupVersion(), User: c.caller(), Peers: peers{c.store}, Warn: c.hear, DryRun: c.dryRun,
			Definitions: c.store.opts.Definitions,
		}
	}
	return &c.rules
}

// answer wraps an object that is stored, or was, with the mark m.
func (c *call) answer(code int, obj Object, m store.Mark) *Response {
	r := &c.answered
	if c.ep.Version != nil {
		*r = Response{Code: code, Object: c.converted(obj, m)}
		return r
	}
	obj = c.show(obj, m)
	if c.req.Shared {
		*r = Response{Code: code, Object: obj, Shared: true}
	} else {
		*r = Response{Code: code, Object: obj.DeepCopyObject().(Object)}
	}
	return r
}

// converted returns obj in the version of the request. It is the caller's.
func (c *call) converted(obj Object, m store.Mark) Object {
	out := c.ep.Version.From(obj)
	if c.req.ManagedFields {
		if entries := c.store.ledger.Owners(m, obj).Entries(); len(entries) > 0 {
			out.SetManagedFields(apply.CopyEntries(entries))
		}
	}
	return out
}
