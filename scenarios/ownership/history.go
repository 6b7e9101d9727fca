package ownership

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
	namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")
)

// history is the state of the garden as it is in the store, and what of its past the
// properties need.
type history struct {
	objects    map[types.UID]apiserver.Object // those that exist
	namespaces map[string]apiserver.Object

	// waiting holds, by the uid of an owner that is deleted in the foreground, the
	// dependents that blocked it then; staying, by that of an owner that is deleted
	// as an orphan-maker, all that it had.
	waiting map[types.UID][]types.UID
	staying map[types.UID][]types.UID

	breaches map[string]error // by property, the first
}

func (h *history) breach(property string, format string, args ...any) {
	if h.breaches[property] == nil {
		h.breaches[property] = fmt.Errorf(format, args...)
	}
}

func uidOf(o apiserver.Object) *types.UID {
	uid := o.GetUID()
	return &uid
}

func name(o apiserver.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// record begins to follow the garden, through an API server of its own that nobody
// else uses and that never lags.
func (s *State) record() error {
	h := &s.history
	h.objects, h.namespaces = map[types.UID]apiserver.Object{}, map[string]apiserver.Object{}
	h.waiting, h.staying = map[types.UID][]types.UID{}, map[types.UID][]types.UID{}
	h.breaches = map[string]error{}
	store := s.world.Cluster.Store()
	observer := apiserver.NewServer(store, "observer")
	for _, gvr := range []schema.GroupVersionResource{namespaces, configMaps, secrets} {
		stream, err := observer.OpenWatch(context.Background(), &apiserver.Request{Verb: apiserver.WatchVerb, Resource: gvr})
		if err != nil {
			return fmt.Errorf("watch %s: %w", gvr.Resource, err)
		}
		stream.OnReady(func() { s.drain(gvr, stream) })
	}
	store.Hook(admission.Hook{
		Name: "observer.ownership.seedbed.dev",
		Match: admission.Match{
			Operations: []admission.Operation{admission.Delete}, Groups: []string{""}, Versions: []string{"*"},
			Resources: []string{configMaps.Resource, secrets.Resource},
		},
		Validate: func(r *admission.Review) admission.Answer {
			s.deleting(r)
			return admission.Answer{}
		},
	})
	return nil
}

func (s *State) drain(gvr schema.GroupVersionResource, stream apiserver.Stream) {
	h := &s.history
	for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
		o := ev.Object
		switch {
		case o == nil || ev.Type == watch.Bookmark:
		case gvr == namespaces && ev.Type == watch.Deleted:
			delete(h.namespaces, o.GetName())
		case gvr == namespaces:
			h.namespaces[o.GetName()] = o
		case ev.Type == watch.Deleted:
			delete(h.objects, o.GetUID())
			s.gone(o)
		default:
			h.objects[o.GetUID()] = o
		}
	}
}

// deleting looks at a deletion before it takes effect.
func (s *State) deleting(r *admission.Review) {
	h, o := &s.history, r.Old
	uid := o.GetUID()
	var policy metav1.DeletionPropagation
	if opts, ok := r.Options.(*metav1.DeleteOptions); ok && opts.PropagationPolicy != nil {
		policy = *opts.PropagationPolicy
	}
	if r.User == nil && o.GetDeletionTimestamp() == nil && !h.ending(o.GetNamespace()) {
		s.count.collected++
		s.judge(o)
	}
	delete(h.waiting, uid)
	delete(h.staying, uid)
	switch policy {
	case metav1.DeletePropagationForeground:
		h.waiting[uid] = h.dependents(o, true)
	case metav1.DeletePropagationOrphan:
		h.staying[uid] = h.dependents(o, false)
		s.count.orphaned += len(h.staying[uid])
	}
}

func (h *history) ending(namespace string) bool {
	ns := h.namespaces[namespace]
	return ns == nil || ns.GetDeletionTimestamp() != nil
}

// dependents are the uids of those that o owns, or of those that block it, in order.
func (h *history) dependents(o apiserver.Object, blocking bool) []types.UID {
	out := []types.UID{}
	for _, uid := range slices.Sorted(maps.Keys(h.objects)) {
		if d := h.objects[uid]; d.GetNamespace() == o.GetNamespace() && owns(o.GetUID(), d, blocking) {
			out = append(out, uid)
		}
	}
	return out
}

func owns(owner types.UID, d apiserver.Object, blocking bool) bool {
	return slices.ContainsFunc(d.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner && (!blocking || ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion)
	})
}

// judge looks at an object that a controller deletes for its owners' sake.
func (s *State) judge(o apiserver.Object) {
	h := &s.history
	for _, ref := range o.GetOwnerReferences() {
		owner := h.objects[ref.UID]
		switch {
		case slices.Contains(h.staying[ref.UID], o.GetUID()):
			h.breach(orphansStay, "%s is deleted after its owner %s, whose deletion was to leave it", name(o), ref.Name)
		case owner == nil || owner.GetNamespace() != o.GetNamespace():
		case h.waiting[ref.UID] != nil: // it is deleted together with its dependents
		default:
			h.breach(liveOwnersKeep, "%s is deleted although its owner %s lives", name(o), name(owner))
		}
	}
	if len(o.GetOwnerReferences()) == 0 {
		h.breach(liveOwnersKeep, "%s is deleted although it has no owner", name(o))
	}
}

// gone looks at an object that has just gone.
func (s *State) gone(o apiserver.Object) {
	h := &s.history
	for _, uid := range h.waiting[o.GetUID()] {
		if d := h.objects[uid]; d != nil && owns(o.GetUID(), d, true) && !h.ending(o.GetNamespace()) {
			h.breach(ownersGoLast, "%s is gone before %s, which blocks it", name(o), name(d))
		}
	}
}
