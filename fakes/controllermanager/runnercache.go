package controllermanager

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// followers are the watches of a [Runner], and its cache.
type followers struct {
	byResource map[schema.GroupVersionResource]*follower
	order      []*follower // as they were opened
	ready      []*follower // have something to read
}

// follower is one watch and what it has shown.
type follower struct {
	resource schema.GroupVersionResource
	stream   *apiserver.Watch
	initial  map[types.NamespacedName]apiserver.Object // until all that is there has been shown
	objects  map[types.NamespacedName]apiserver.Object
	sorted   []apiserver.Object // nil if it has to be made
}

// follow opens the watches that are missing, and ends those that nobody wants.
func (f *followers) follow(server *apiserver.Server, m *Manager) error {
	wanted := m.Watched()
	for _, gvr := range wanted {
		if f.byResource[gvr] != nil {
			continue
		}
		one := &follower{resource: gvr, objects: map[types.NamespacedName]apiserver.Object{}}
		if err := f.open(one, server); err != nil {
			return err
		}
		f.byResource[gvr] = one
		f.order = append(f.order, one)
	}
	f.order = slices.DeleteFunc(f.order, func(one *follower) bool {
		if slices.Contains(wanted, one.resource) {
			return false
		}
		one.stream.Stop()
		delete(f.byResource, one.resource)
		return true
	})
	return nil
}

// open begins anew: the state comes first.
func (f *followers) open(one *follower, server *apiserver.Server) error {
	yes := true
	w, err := server.Watch(&apiserver.Request{
		Resource: one.resource, SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", one.resource.Resource, err)
	}
	one.stream, one.initial = w, map[types.NamespacedName]apiserver.Object{}
	f.ready = append(f.ready, one)
	w.OnReady(func() { f.ready = append(f.ready, one) })
	return nil
}

// drain shows the manager everything that the watches have.
func (f *followers) drain(server *apiserver.Server, m *Manager) {
	for len(f.ready) > 0 {
		one := f.ready[0]
		f.ready = f.ready[1:]
		for ev, ok := one.stream.Next(); ok; ev, ok = one.stream.Next() {
			one.take(ev, m)
		}
		if one.stream.Ended() && f.byResource[one.resource] == one {
			// The server has restarted, or has forgotten too much.
			if err := f.open(one, server); err != nil {
				delete(f.byResource, one.resource) // not served any more
			}
		}
	}
}

func nameOf(o apiserver.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (one *follower) take(ev apiserver.Event, m *Manager) {
	switch {
	case ev.Type == watch.Error:
	case ev.Type == watch.Bookmark:
		if one.initial != nil && ev.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			one.replace(m)
		}
	case one.initial != nil && ev.Type == watch.Deleted:
		delete(one.initial, nameOf(ev.Object))
	case one.initial != nil:
		one.initial[nameOf(ev.Object)] = ev.Object
	case ev.Type == watch.Deleted:
		one.set(ev.Object, nil, m)
	default:
		one.set(ev.Object, ev.Object, m)
	}
}

// replace makes the cache what the initial events have shown.
func (one *follower) replace(m *Manager) {
	state := one.initial
	one.initial = nil
	byName := func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	for _, key := range slices.SortedFunc(maps.Keys(state), byName) {
		one.set(state[key], state[key], m)
	}
	for _, key := range slices.SortedFunc(maps.Keys(one.objects), byName) {
		if state[key] == nil {
			one.set(one.objects[key], nil, m)
		}
	}
}

// set takes the new state of the object called as o is; nil if it is gone.
func (one *follower) set(o, new apiserver.Object, m *Manager) {
	key := nameOf(o)
	old := one.objects[key]
	one.sorted = nil
	if new != nil {
		one.objects[key] = new
		m.Observe(one.resource, old, new)
		return
	}
	delete(one.objects, key)
	m.Observe(one.resource, o, nil)
}

// Get implements Cache.
func (f *followers) Get(gvr schema.GroupVersionResource, namespace, name string) apiserver.Object {
	one := f.byResource[gvr]
	if one == nil {
		return nil
	}
	return one.objects[types.NamespacedName{Namespace: namespace, Name: name}]
}

// List implements Cache.
func (f *followers) List(gvr schema.GroupVersionResource, namespace string) []apiserver.Object {
	one := f.byResource[gvr]
	if one == nil {
		return nil
	}
	if one.sorted == nil {
		one.sorted = slices.SortedFunc(maps.Values(one.objects), func(a, b apiserver.Object) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
	}
	if namespace == "" {
		return one.sorted
	}
	at := func(o apiserver.Object, ns string) int { return cmp.Compare(o.GetNamespace(), ns) }
	from, _ := slices.BinarySearchFunc(one.sorted, namespace, at)
	to, _ := slices.BinarySearchFunc(one.sorted, namespace+"\x00", at)
	return one.sorted[from:to]
}
