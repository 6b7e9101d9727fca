package apiserver

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/tokens"
)

// Store is the etcd of a fake cluster together with what all of its API servers
// agree on: the kinds that are served, admission hooks and authorization.
//
// Kinds, hooks and converters are registered before requests are made; all else is
// safe for concurrent use.
type Store struct {
	opts   Options
	data   *store.Store
	kinds  *registry.Registry
	hooks  admission.Chain
	ledger apply.Ledger // of who owns which fields

	policies   policies
	conditions sync.Map // *admission.Hook → *policy.Conditions
	issuer     *tokens.Issuer
	trusted    map[string]*User // bearer tokens beside those of the issuer

	definitions definitions
	resources   sync.Map // *registry.Entry → *Resource, of the entries that were asked for

	// endpoints that have been asked for; replaced as a whole when one is added.
	endpoints atomic.Pointer[map[schema.GroupVersionResource]*endpoint]

	mu       sync.Mutex // guards what follows, and changes of endpoints
	counters map[string]uint64
	tables   map[schema.GroupResource]*store.Table
	servers  []*Server
	sealing  bool // some server has loaded an EncryptionConfiguration
}

// endpoint is a served resource and where its objects are.
type endpoint struct {
	*registry.Entry
	table *store.Table
	gr    schema.GroupResource // as requested
	gone  atomic.Bool          // something else is served in its place, or nothing

	// defines says that writes may concern a CustomResourceDefinition.
	defines bool

	main, status, finalize fieldTarget
	scale                  scaleTarget
}

// target returns what writes to a subresource, or to the object itself, are made
// to.
func (ep *endpoint) target(subresource string) apply.Target {
	switch subresource {
	case "":
		return &ep.main
	case "status":
		return &ep.status
	case "scale":
		return &ep.scale
	case "finalize":
		return &ep.finalize
	default:
		return &fieldTarget{ep: ep, kinds: ep.main.kinds, subresource: subresource} // so rare that they need not be told apart
	}
}

// NewStore returns a store that holds nothing but the namespaces default,
// kube-system, kube-public and kube-node-lease.
func NewStore(opts Options) *Store {
	opts.setDefaults()
	st := &Store{
		opts:     opts,
		kinds:    registry.New(),
		counters: map[string]uint64{},
		tables:   map[schema.GroupResource]*store.Table{},
	}
	st.issuer = tokens.NewIssuer(opts.Clock, st.random)

	st.definitions.converters = map[schema.GroupKind]Converter{}
	st.definitions.served = map[string]served{}
	st.endpoints.Store(&map[schema.GroupVersionResource]*endpoint{})
	cfg := store.Config{History: opts.History, Carry: apply.Carry}
	if opts.Guard {
		cfg.Check = st.guard
	}
	st.data = store.New(cfg)
	st.policies.bindings = st.table(policyBindingResource)
	if opts.RBAC && opts.Authorizer == nil {
		st.opts.Authorizer = &authz.RBAC{Rules: rules{st}}
	}
	boot := NewServer(st, "bootstrap")
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		ns := &corev1.Namespace{}
		ns.Name = name
		if _, err := boot.Do(&Request{Verb: Create, Resource: namespaceResource, Object: ns, Owned: true, UserAgent: "kube-apiserver"}); err != nil {
			panic(fmt.Sprintf("apiserver: create namespace %s: %v", name, err))
		}
	}
	if opts.DefaultRoles {
		boot.createDefaultRoles()
	}
	return st
}

// createDefaultRoles makes what [authz.Defaults] lists.
func (s *Server) createDefaultRoles() {
	create := func(plural string, obj Object) {
		req := &Request{Verb: Create, Resource: rbacv1.SchemeGroupVersion.WithResource(plural), Namespace: obj.GetNamespace(), Object: obj}
		if _, err := s.Do(req); err != nil {
			panic(fmt.Sprintf("apiserver: create default %s %s: %v", plural, obj.GetName(), err))
		}
	}
	defaults := authz.Defaults()
	for _, o := range defaults.ClusterRoles {
		create("clusterroles", o)
	}
	for _, o := range defaults.ClusterRoleBindings {
		create("clusterrolebindings", o)
	}
	for _, o := range defaults.Roles {
		create("roles", o)
	}
	for _, o := range defaults.RoleBindings {
		create("rolebindings", o)
	}
}

var namespaceResource = corev1.SchemeGroupVersion.WithResource("namespaces")

// KindInfo describes a custom resource.
type KindInfo = registry.Info

// Register adds a custom resource. It is of the Go type that the scheme has for
// its kind, or unstructured. It fails if the kind or resource exists.
func (st *Store) Register(info KindInfo) error {
	var prototype Object
	if !info.Unstructured && st.opts.Scheme.Recognizes(info.GVK) {
		obj, err := st.opts.Scheme.New(info.GVK)
		if err != nil {
			return fmt.Errorf("register %v: %w", info.GVK, err)
		}
		typed, ok := obj.(Object)
		if !ok {
			return fmt.Errorf("register %v: %T has no object metadata", info.GVK, obj)
		}
		prototype = typed
	}
	return st.RegisterKind(registry.Custom(info, prototype))
}

// RegisterKind adds a kind with rules of its own.
func (st *Store) RegisterKind(k *registry.Kind) error { return st.kinds.Register(k) }

// Hook adds an admission hook. Hooks are asked in the order in which they were
// added.
func (st *Store) Hook(h admission.Hook) { st.hooks.Add(h) }

// Authorizer returns what is asked about every request that has a User, or nil.
func (st *Store) Authorizer() authz.Authorizer { return st.opts.Authorizer }

// Clock returns the clock that gives creation and deletion timestamps.
func (st *Store) Clock() clock.PassiveClock { return st.opts.Clock }

// Scheme returns the scheme that says which kinds are Go types.
func (st *Store) Scheme() *runtime.Scheme { return st.opts.Scheme }

// Revision returns the revision of the last write.
func (st *Store) Revision() uint64 { return st.data.Revision() }

// Compact forgets the states before rev, or before now if rev is zero: old lists
// and continue tokens get 410. Watches are not disturbed, as the watch caches of
// the API servers keep their events.
func (st *Store) Compact(rev uint64) {
	if rev == 0 {
		rev = st.data.Revision()
	}
	st.data.Compact(rev)
}

// ForgetHistory forgets everything but the present state, as a compaction and a
// restart of all API servers do: old watches get 410 too. Open watches go on;
// see [Server.Restart] for ending them.
func (st *Store) ForgetHistory() { st.data.Forget() }

func (st *Store) endpoint(gvr schema.GroupVersionResource) (*endpoint, bool) {
	if e, ok := (*st.endpoints.Load())[gvr]; ok {
		return e, true
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	entry, ok := st.kinds.Lookup(gvr)
	if !ok {
		return nil, false
	}
	e := &endpoint{
		Entry: entry, table: st.table(entry.GroupResource()), gr: gvr.GroupResource(),
		defines: gvr == definitionResource || entry.Definition != nil && entry.Definition.Terminating,
	}
	e.main.ep, e.status.ep, e.finalize.ep, e.scale.ep = e, e, e, e
	e.main.kinds, e.status.kinds, e.finalize.kinds = st.kinds, st.kinds, st.kinds
	e.status.subresource, e.finalize.subresource = "status", "finalize"
	next := maps.Clone(*st.endpoints.Load())
	next[gvr] = e
	st.endpoints.Store(&next)
	return e, true
}

func (st *Store) table(gr schema.GroupResource) *store.Table {
	t, ok := st.tables[gr]
	if !ok {
		t = st.data.Table(gr.String())
		st.tables[gr] = t
	}
	return t
}

// guard panics if a stored object is no longer what was written.
func (st *Store) guard(table string, k store.Key, stored, written Object) {
	if shape.Of(stored, shape.Protobuf).Same(stored, written) {
		return
	}
	diff := cmp.Diff(written, stored, cmp.Exporter(func(reflect.Type) bool { return true }))
	panic(fmt.Sprintf("apiserver: somebody changed the stored object %s %s (-written +now):\n%s", table, k, diff))
}

// peers lets the rules of kinds look at other objects.
type peers struct{ st *Store }

func (p peers) tableOf(gr schema.GroupResource) *store.Table {
	p.st.mu.Lock()
	defer p.st.mu.Unlock()
	return p.st.table(gr)
}

// Peer implements registry.Peers.
func (p peers) Peer(gr schema.GroupResource, namespace, name string) (Object, bool) {
	return p.tableOf(gr).Get(store.Key{Namespace: namespace, Name: name})
}

// Peers implements registry.Peers.
func (p peers) Peers(gr schema.GroupResource, namespace string) []Object {
	r, err := p.tableOf(gr).List(store.Query{Selector: store.Selector{Namespace: namespace}})
	if err != nil {
		return nil // only lists of old revisions fail
	}
	return r.Objects
}

// PeerBy implements registry.Peers.
func (p peers) PeerBy(gr schema.GroupResource, f *store.Field, value string) bool {
	r, err := p.tableOf(gr).List(store.Query{Selector: store.Selector{Terms: []store.Term{{Field: f, Value: value}}}, Limit: 1})
	return err == nil && len(r.Objects) > 0
}

// Next implements registry.Peers.
func (p peers) Next(purpose string) uint64 {
	p.st.mu.Lock()
	defer p.st.mu.Unlock()
	n := p.st.counters[purpose]
	p.st.counters[purpose]++
	return n
}

// rules lets RBAC read the store's own roles.
type rules struct{ st *Store }

func rbacResource(plural string) schema.GroupResource {
	return schema.GroupResource{Group: rbacv1.GroupName, Resource: plural}
}

// Role implements authz.Rules.
func (r rules) Role(namespace, name string) (*rbacv1.Role, bool) {
	o, ok := peers(r).Peer(rbacResource("roles"), namespace, name)
	if !ok {
		return nil, false
	}
	return o.(*rbacv1.Role), true
}

// ClusterRole implements authz.Rules.
func (r rules) ClusterRole(name string) (*rbacv1.ClusterRole, bool) {
	o, ok := peers(r).Peer(rbacResource("clusterroles"), "", name)
	if !ok {
		return nil, false
	}
	return o.(*rbacv1.ClusterRole), true
}

// RoleBindings implements authz.Rules.
func (r rules) RoleBindings(namespace string) []*rbacv1.RoleBinding {
	return all[*rbacv1.RoleBinding](peers(r).Peers(rbacResource("rolebindings"), namespace))
}

// ClusterRoleBindings implements authz.Rules.
func (r rules) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	return all[*rbacv1.ClusterRoleBinding](peers(r).Peers(rbacResource("clusterrolebindings"), ""))
}

func all[T Object](list []Object) []T {
	out := make([]T, 0, len(list))
	for _, o := range list {
		out = append(out, o.(T))
	}
	return out
}
