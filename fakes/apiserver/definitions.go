package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/registry"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// CustomResourceDefinitions are looked after by controllers inside of a real API
// server: names are accepted, the kind is established and served, and after a
// delete its objects go before the definition does. Here that work is done at the
// end of the request that makes it necessary, after its answer has been fixed. So
// the answer shows the definition before, and every later read after it; watchers
// see each step.

var definitionResource = apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions")

// Converter does the work of a conversion webhook; see [Store.ConvertBy].
type Converter = crd.Converter

// ConvertBy makes convert the conversion webhook of all definitions of a kind whose
// conversion strategy is Webhook. Without it, requests that need a conversion are
// answered 501.
func (st *Store) ConvertBy(kind schema.GroupKind, convert Converter) {
	st.definitions.converters[kind] = convert
}

// definitions is what a store knows of its CustomResourceDefinitions beside the
// objects.
type definitions struct {
	converters map[schema.GroupKind]Converter

	mu     sync.Mutex
	queue  []string // names to look at
	busy   bool     // somebody works on the queue
	served map[string]served
}

// served is what is served of a definition.
type served struct {
	uid         types.UID
	definition  *crd.Definition
	terminating bool
	since       uint64
}

// concernsDefinition returns the name of the definition that a write has to do
// with, or "".
func (c *call) concernsDefinition(r *Response) string {
	switch d := c.ep.Definition; {
	case d != nil && d.Terminating:
		return d.Name
	case c.ep.gr != definitionResource.GroupResource() || r.Object == nil:
		return ""
	}
	return r.Object.GetName()
}

// attend does the work of the controllers for one definition, and for those that
// it affects.
func (s *Server) attend(name string) {
	q := &s.store.definitions
	q.mu.Lock()
	q.queue = append(q.queue, name)
	if q.busy {
		q.mu.Unlock()
		return
	}
	q.busy = true
	for len(q.queue) > 0 {
		next := q.queue[0]
		q.queue = q.queue[1:]
		q.mu.Unlock()
		s.step(next)
		q.mu.Lock()
	}
	q.busy = false
	q.mu.Unlock()
}

// step takes the next step that a definition needs. A step that writes comes back
// here, as every write of a definition does.
func (s *Server) step(name string) {
	d, ok := s.definition(name)
	if !ok {
		s.store.unserve(name)
		s.attendGroup(name)
		return
	}
	next, now := d.DeepCopy(), s.now()
	switch {
	case crd.AcceptNames(next, s.allDefinitions(), now):
		if s.writeDefinition(next) {
			s.attendGroup(name)
		}
	case crd.Approve(next, now), crd.Establish(next, now):
		s.writeDefinition(next)
	default:
		s.store.serve(d)
		if d.DeletionTimestamp != nil && slices.Contains(d.Finalizers, apiextensions.CustomResourceCleanupFinalizer) {
			s.cleanUp(d)
		}
	}
}

// attendGroup has all other definitions of the group looked at, for a name may have
// become free.
func (s *Server) attendGroup(name string) {
	_, group, _ := strings.Cut(name, ".")
	for _, d := range s.allDefinitions() {
		if d.Spec.Group == group && d.Name != name {
			s.attend(d.Name)
		}
	}
}

func (s *Server) definition(name string) (*apiextensions.CustomResourceDefinition, bool) {
	obj, ok := peers{s.store}.Peer(definitionResource.GroupResource(), "", name)
	if !ok {
		return nil, false
	}
	return obj.(*apiextensions.CustomResourceDefinition), true
}

func (s *Server) allDefinitions() []*apiextensions.CustomResourceDefinition {
	return all[*apiextensions.CustomResourceDefinition](peers{s.store}.Peers(definitionResource.GroupResource(), ""))
}

// writeDefinition writes a status as the controllers do. It reports whether it was
// taken; if not, whatever is in the way gives occasion to try again.
func (s *Server) writeDefinition(d *apiextensions.CustomResourceDefinition) bool {
	_, err := s.Do(&Request{
		Verb: Update, Resource: definitionResource, Subresource: "status", Name: d.Name,
		Object: d, Owned: true, UserAgent: "kube-apiserver",
	})
	return err == nil
}

// cleanUp takes away the objects of a definition that is being deleted, and then
// the definition.
func (s *Server) cleanUp(d *apiextensions.CustomResourceDefinition) {
	next := d.DeepCopy()
	progress := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Terminating, Status: apiextensions.ConditionTrue,
		Reason: "InstanceDeletionInProgress", Message: "CustomResource deletion is in progress",
	}
	if !apihelpers.IsCRDConditionEquivalent(&progress, apihelpers.FindCRDCondition(d, apiextensions.Terminating)) {
		crd.SetCondition(next, progress, s.now())
		s.writeDefinition(next)
		return
	}
	done := apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Terminating, Status: apiextensions.ConditionFalse,
		Reason: "InstanceDeletionCompleted", Message: "removed all instances",
	}
	switch {
	case !apihelpers.IsCRDConditionTrue(d, apiextensions.Established):
		done.Reason, done.Message = "NeverEstablished", "resource was never established"
	case !s.removeInstances(d):
		return // the removal of the last one comes back here
	}
	crd.SetCondition(next, done, s.now())
	apihelpers.CRDRemoveFinalizer(next, apiextensions.CustomResourceCleanupFinalizer)
	s.writeDefinition(next)
}

// removeInstances deletes all objects of a kind and reports whether they are gone.
// As in a real server, no admission hook is asked.
func (s *Server) removeInstances(d *apiextensions.CustomResourceDefinition) bool {
	entries := s.store.kinds.Defined(d.Name)
	if len(entries) == 0 {
		return true // no version is served: whatever is stored stays, out of reach
	}
	ep, ok := s.store.endpoint(entries[0].Resource())
	if !ok {
		return true
	}
	c := &call{Server: s, req: &Request{Verb: DeleteCollection, Resource: entries[0].Resource()}, ep: ep, unadmitted: true}
	found, err := ep.table.List(store.Query{})
	if err != nil {
		return false // only lists of old revisions fail
	}
	for _, obj := range found.Objects {
		key := store.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		if _, _, err := c.remove(key, &metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return false
		}
	}
	return ep.table.Len() == 0
}

// terminateDefinition begins the deletion of a definition.
func (c *call) terminateDefinition(key store.Key, old Object, opts *metav1.DeleteOptions) (Object, error) {
	d := old.DeepCopyObject().(*apiextensions.CustomResourceDefinition)
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != d.UID {
			return nil, apierrors.NewConflict(c.ep.gr, key.Name, fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, d.UID))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != d.ResourceVersion {
			return nil, apierrors.NewConflict(c.ep.gr, key.Name, fmt.Errorf("precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *p.ResourceVersion, d.ResourceVersion))
		}
	}
	if err := c.admitDelete(old); err != nil {
		return nil, err
	}
	now := c.now()
	d.DeletionTimestamp = &now
	if !slices.Contains(d.Finalizers, apiextensions.CustomResourceCleanupFinalizer) {
		d.Finalizers = append(d.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
	}
	crd.SetCondition(d, apiextensions.CustomResourceDefinitionCondition{
		Type: apiextensions.Terminating, Status: apiextensions.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, now)
	if c.dryRun {
		return d, nil
	}
	obj, err := c.put(key, d, old, apply.Carry(c.own.mark, old))
	if err != nil {
		return nil, c.storageError(err)
	}
	return obj, nil
}

// serve makes the kind of a definition served as the definition says now.
func (st *Store) serve(d *apiextensions.CustomResourceDefinition) {
	if !apihelpers.IsCRDConditionTrue(d, apiextensions.NamesAccepted) && !apihelpers.IsCRDConditionTrue(d, apiextensions.Established) {
		st.unserve(d.Name)
		return
	}
	next := served{uid: d.UID, definition: st.opts.Definitions.Definition(d), terminating: d.DeletionTimestamp != nil}
	gr := schema.GroupResource{Group: d.Spec.Group, Resource: d.Status.AcceptedNames.Plural}
	st.definitions.mu.Lock()
	was, known := st.definitions.served[d.Name]
	same := known && was.uid == next.uid && was.definition == next.definition
	if same && was.terminating == next.terminating {
		st.definitions.mu.Unlock()
		return
	}
	next.since = was.since
	if !same && (peers{st}).tableOf(gr).Len() > 0 {
		next.since = st.Revision()
	}
	st.definitions.served[d.Name] = next
	st.definitions.mu.Unlock()

	st.define(d.Name, next.definition.Entries(&registry.Definition{
		Name: d.Name, Storage: next.definition.Storage().Version, Terminating: next.terminating, Since: next.since,
	}, st.converter(next.definition, d.Status.AcceptedNames.Kind)))
	if same {
		return
	}
	(peers{st}).tableOf(gr).Reopen() // a real server begins a new watch cache
	if known {
		st.endWatches(gr)
	}
}

// unserve ends the service of a definition's kind.
func (st *Store) unserve(name string) {
	st.definitions.mu.Lock()
	_, known := st.definitions.served[name]
	delete(st.definitions.served, name)
	st.definitions.mu.Unlock()
	if !known {
		return
	}
	entries := st.kinds.Defined(name)
	st.define(name, nil)
	if len(entries) > 0 {
		st.endWatches(entries[0].GroupResource())
	}
}

// define replaces what is served for a definition, and forgets its endpoints.
func (st *Store) define(name string, entries []*registry.Entry) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, gone := range st.kinds.Defined(name) {
		st.resources.Delete(gone)
	}
	st.kinds.Define(name, entries)
	next := maps.Clone(*st.endpoints.Load())
	maps.DeleteFunc(next, func(_ schema.GroupVersionResource, ep *endpoint) bool {
		dropped := ep.Definition != nil && ep.Definition.Name == name
		if dropped {
			ep.gone.Store(true)
		}
		return dropped
	})
	st.endpoints.Store(&next)
}

// converter returns what converts between the versions of a definition, or nil if
// only the apiVersion differs.
func (st *Store) converter(d *crd.Definition, kind string) Converter {
	if !d.Webhook() {
		return nil
	}
	gk := schema.GroupKind{Group: d.Storage().Group, Kind: kind}
	return func(obj *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
		convert := st.definitions.converters[gk]
		if convert == nil {
			return nil, errNotModelled("the conversion webhook of " + gk.String() + "; see Store.ConvertBy")
		}
		return convert(obj, to)
	}
}

// endWatches ends the watches of a resource on all servers, as happens when its
// definition changes: watchers come back and see what is served now. What they have
// not read yet they still get.
func (st *Store) endWatches(gr schema.GroupResource) {
	st.mu.Lock()
	servers := slices.Clone(st.servers)
	st.mu.Unlock()
	for _, s := range servers {
		for _, w := range s.open() {
			if w.ep.gr == gr {
				w.close()
			}
		}
	}
}
