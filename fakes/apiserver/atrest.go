package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// Encryption at rest. What is stored beside an object is the value that etcd would hold
// instead of it, sealed by the server that has written it. Whoever reads from etcd opens
// the value by the transformers of his own process, and fails if he cannot. A server
// whose store has never seen a configuration knows nothing of all this: its atRest is
// nil, and nothing is sealed.

// atRest is what a server does with values of etcd.
type atRest struct {
	server *Server
	loader *encryption.Loader       // nil: no configuration was loaded
	none   *encryption.Transformers // in place of the loader's
	caches map[*store.Table]*watchCache
	known  *encryption.Transformers // whose transformers are in chosen
	chosen map[*store.Table]*encryption.Transformer
}

// SetEncryption starts the process of the server anew, with the configuration that l has
// loaded; nil is a process without one, which refuses to read what is sealed. All of its
// watch caches begin anew. The store's other servers do not change, but from the first
// call on they too know that values may be sealed. The loader is not closed with the
// server: whoever has started it does that.
//
// A server of a store that holds sealed values is used on one goroutine, as its loader is.
func (s *Server) SetEncryption(l *encryption.Loader) {
	s.store.sealFromNowOn()
	r := newAtRest(s)
	r.loader = l
	if old := s.rest.Swap(r); old != nil {
		for _, w := range old.caching() {
			s.view.Go(w.ep.table)
		}
	}
}

// SetGhost lets the server read everything, sealed by whomever, and seal as another
// does, which of is asked for each time. It is for drivers and checks, which are no part
// of a cluster.
func (s *Server) SetGhost(of func() *Server) { s.ghost.Store(&of) }

// Encryption is what the server's process has loaded; nil without a configuration.
func (s *Server) Encryption() *encryption.Loader {
	if r := s.rest.Load(); r != nil {
		return r.loader
	}
	return nil
}

// sealFromNowOn tells all servers that values may be sealed.
func (st *Store) sealFromNowOn() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.sealing = true
	for _, s := range st.servers {
		if s.rest.Load() == nil {
			r := newAtRest(s)
			for _, w := range s.open() { // they come from caches that are warm
				if w.cursor != nil && !w.ep.Uncached {
					seen := s.view.Seen(w.ep.table)
					r.caches[w.ep.table] = &watchCache{rest: r, ep: w.ep, state: cacheFollowing, since: seen, upto: seen, changed: r.now()}
				}
			}
			s.rest.Store(r)
		}
	}
}

// Sealing reports whether any server of the store has ever loaded an
// EncryptionConfiguration, so that values may be sealed.
func (st *Store) Sealing() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.sealing
}

func newAtRest(s *Server) *atRest {
	return &atRest{
		server: s, none: encryption.None(), caches: map[*store.Table]*watchCache{},
		chosen: map[*store.Table]*encryption.Transformer{},
	}
}

// transformers are those in force.
func (r *atRest) transformers() *encryption.Transformers {
	if g := r.server.ghost.Load(); g != nil {
		if of := (*g)().rest.Load(); of != nil {
			return of.transformers()
		}
	}
	if r.loader == nil {
		return r.none
	}
	return r.loader.Transformers()
}

// transformer is the one in force for a kind.
func (r *atRest) transformer(ep *endpoint) *encryption.Transformer {
	now := r.transformers()
	if now != r.known {
		clear(r.chosen)
		r.known = now
	}
	t := r.chosen[ep.table]
	if t == nil {
		t = now.For(ep.storedAs())
		r.chosen[ep.table] = t
	}
	return t
}

// storedAs is the resource under which objects are stored, and so the one that an
// EncryptionConfiguration knows.
func (ep *endpoint) storedAs() schema.GroupResource {
	gr := ep.GroupResource()
	if gr.Resource == "events" {
		gr.Group = "" // wherever they are read
	}
	return gr
}

// etcdKey is where a real server keeps an object.
func (ep *endpoint) etcdKey(k store.Key) string {
	return "/registry/" + storagePrefix(ep) + "/" + k.String()
}

// read opens what is stored of a version of an object; err says why that cannot be
// done.
func (r *atRest) read(ep *endpoint, k store.Key, sealed *store.Sealed) (stale bool, took time.Duration, err error) {
	if r.server.ghost.Load() != nil {
		return false, 0, nil
	}
	v := valueOf(sealed)
	path := ""
	if v != nil {
		path = ep.etcdKey(k)
	}
	return r.transformer(ep).Read(path, v)
}

// valueOf is what is stored of a version; nil for an object in clear.
func valueOf(sealed *store.Sealed) *encryption.Value {
	if sealed == nil {
		return nil
	}
	return sealed.Value.(*encryption.Value)
}

// seal returns what is to be stored of obj; nil if that is the object in clear.
func (c *call) seal(ep *endpoint, k store.Key, obj Object) (*store.Sealed, error) {
	r := c.rest.Load()
	if r == nil {
		return nil, nil
	}
	t := r.transformer(ep)
	if c.req.Encoded != nil {
		t = c.req.Encoded.For(ep.storedAs())
	}
	if !t.Seals() {
		return nil, nil
	}
	text, err := c.store.encode(ep, obj)
	if err != nil {
		return nil, err
	}
	v, err := t.Write(ep.etcdKey(k), text)
	if err != nil {
		return nil, errUnsealed(err)
	}
	return &store.Sealed{Value: v}, nil
}

// encode is obj as the bytes that a server would store in clear.
func (st *Store) encode(ep *endpoint, obj Object) ([]byte, error) {
	obj = shape.ShallowCopy(obj).(Object)
	obj.SetResourceVersion("")
	obj.SetSelfLink("")
	if !ep.Typed() || ep.Custom || reflect.TypeOf(obj).Kind() != reflect.Pointer {
		return json.Marshal(obj)
	}
	obj.GetObjectKind().SetGroupVersionKind(ep.GroupVersionKind)
	var out bytes.Buffer
	if err := protobuf.NewSerializer(st.opts.Scheme, st.opts.Scheme).Encode(obj, &out); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", ep.gr, obj.GetName(), err)
	}
	return out.Bytes(), nil
}

// rewrite is Table.Update for a write of the server's own, which owns no fields.
func (c *call) rewrite(ep *endpoint, k store.Key, next, old Object) error {
	if c.rest.Load() == nil {
		return ep.table.Update(k, next, old)
	}
	_, mark, _ := ep.table.Look(k)
	sealed, err := c.seal(ep, k, next)
	if err != nil {
		return err
	}
	mark = apply.Carry(mark, old)
	mark.Sealed = sealed
	err = ep.table.UpdateMarked(k, next, old, mark)
	c.wrote(ep, err)
	return err
}

// wrote lets the watch caches of all servers follow a write.
func (c *call) wrote(ep *endpoint, err error) {
	if err == nil && c.rest.Load() != nil {
		c.store.followed(ep)
	}
}

func (st *Store) followed(ep *endpoint) {
	st.mu.Lock()
	servers := st.servers
	st.mu.Unlock()
	for _, s := range servers {
		if r := s.rest.Load(); r != nil {
			r.follow(ep)
		}
	}
}

// StoredObject tells of a stored object what can be seen without any key.
type StoredObject struct {
	Namespace, Name string
	Revision        uint64 // of its last write
	SealedBy        encryption.SealedBy
}

// Stored lists the objects of a resource as they are stored, in order of namespace and
// name. It is for checks: no server is asked, and nothing is opened.
func (st *Store) Stored(gr schema.GroupResource) []StoredObject {
	found, err := peers{st}.tableOf(gr).List(store.Query{Marked: true})
	if err != nil {
		return nil // only lists of old revisions fail
	}
	out := make([]StoredObject, len(found.Objects))
	for i, o := range found.Objects {
		out[i] = StoredObject{Namespace: o.GetNamespace(), Name: o.GetName(), SealedBy: valueOf(found.Marks[i].Sealed).SealedBy()}
		out[i].Revision, _ = parseVersion(o.GetResourceVersion())
	}
	return out
}

// StoredOne is Stored for one object, and false if it does not exist.
func (st *Store) StoredOne(gr schema.GroupResource, namespace, name string) (StoredObject, bool) {
	o, mark, ok := peers{st}.tableOf(gr).Look(store.Key{Namespace: namespace, Name: name})
	if !ok {
		return StoredObject{}, false
	}
	out := StoredObject{Namespace: namespace, Name: name, SealedBy: valueOf(mark.Sealed).SealedBy()}
	out.Revision, _ = parseVersion(o.GetResourceVersion())
	return out, true
}

// StoredBytes returns what etcd would hold of an object if that is sealed, nil if it is
// in clear or does not exist.
func (st *Store) StoredBytes(gr schema.GroupResource, namespace, name string) []byte {
	_, mark, _ := peers{st}.tableOf(gr).Look(store.Key{Namespace: namespace, Name: name})
	if v := valueOf(mark.Sealed); v != nil {
		return v.Bytes()
	}
	return nil
}

// caching are the caches of a server in order of their kinds.
func (r *atRest) caching() []*watchCache {
	out := make([]*watchCache, 0, len(r.caches))
	for _, w := range r.caches {
		out = append(out, w)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ep.gr.String() < out[j].ep.gr.String() })
	return out
}
