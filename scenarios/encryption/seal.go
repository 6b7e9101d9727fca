package encryption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
)

// sealed is how objects are stored.
type sealed struct {
	mode state.Mode // of the key; empty if they are stored as they are
	id   uint64
	kek  string
}

// plain reports whether the object is stored as it is.
func (o sealed) plain() bool { return o.mode == "" }

// by reports whether the object is encrypted with k.
func (o sealed) by(k state.Key) bool { return !o.plain() && o.mode == k.Mode && o.id == k.ID }

// readBy reports whether one of keys decrypts the object.
func (o sealed) readBy(keys []state.Key) bool {
	for _, k := range keys {
		if o.by(k) {
			return true
		}
	}
	return o.plain()
}

// writtenWith reports whether o is stored as an API server stores it that writes with
// k.
func (o sealed) writtenWith(k state.Key) bool {
	if k.Mode == state.Identity {
		return o.plain()
	}
	return o.by(k)
}

func (o sealed) how() string {
	switch {
	case o.plain():
		return "stored as it is"
	case o.kek != "":
		return fmt.Sprintf("encrypted with %s key %d (%s)", o.mode, o.id, o.kek)
	default:
		return fmt.Sprintf("encrypted with %s key %d", o.mode, o.id)
	}
}

// inventory is what is stored of a resource. Objects that are stored alike count as one:
// there may be very many, and properties look after each write.
type inventory struct {
	resource string
	objects  map[objectName]sealed
	count    map[sealed]int
	order    []sealed // the keys of count, sorted; nil if they have changed
}

type objectName struct{ namespace, name string }

// stored are the ways in which objects of a resource are stored.
func (s *State) stored(gr schema.GroupResource) []sealed {
	i := s.inventories[gr]
	if i == nil {
		return nil
	}
	if i.order == nil {
		i.order = slices.SortedFunc(maps.Keys(i.count), func(a, b sealed) int {
			return cmp.Or(cmp.Compare(a.mode, b.mode), cmp.Compare(a.id, b.id), cmp.Compare(a.kek, b.kek))
		})
	}
	return i.order
}

// example names an object of a resource that is stored in some way: the first of them.
func (s *State) example(gr schema.GroupResource, how sealed) string {
	i := s.inventories[gr]
	var names []string
	for o, its := range i.objects {
		if its == how {
			names = append(names, o.namespace+"/"+o.name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return i.resource + " that is gone"
	}
	return i.resource + " " + names[0]
}

// set notes how an object is stored, if it is.
func (i *inventory) set(o objectName, how sealed, exists bool) {
	if before, had := i.objects[o]; had {
		if exists && before == how {
			return
		}
		delete(i.objects, o)
		if i.count[before]--; i.count[before] == 0 {
			delete(i.count, before)
			i.order = nil
		}
	}
	if !exists {
		return
	}
	i.objects[o] = how
	if i.count[how]++; i.count[how] == 1 {
		i.order = nil
	}
}

func sealedAs(o apiserver.StoredObject) sealed {
	out := sealed{kek: o.SealedBy.KEK}
	if o.SealedBy.Clear() {
		return out
	}
	out.mode = state.Mode(o.SealedBy.Provider)
	name := o.SealedBy.Key
	if out.mode == "kms" {
		out.mode = state.KMS
		if _, err := fmt.Sscanf(name, "%d_", &out.id); err != nil {
			out.id = 0
		}
		return out
	}
	out.id, _ = state.ParseID(name)
	return out
}

// take begins to follow what is stored of a resource.
func (s *State) take(gr schema.GroupResource) error {
	kind, err := served{s}.PreferredKind(background, gr)
	if err != nil {
		return err
	}
	i := &inventory{resource: gr.Resource, objects: map[objectName]sealed{}, count: map[sealed]int{}}
	s.inventories[gr] = i
	all := s.world.Cluster.Store()
	for _, o := range all.Stored(gr) {
		i.set(objectName{o.Namespace, o.Name}, sealedAs(o), true)
	}
	stream, err := s.observer.OpenWatch(background, &apiserver.Request{Verb: apiserver.WatchVerb, Resource: gr.WithVersion(kind.Version)})
	if err != nil {
		return fmt.Errorf("watch %s: %w", gr, err)
	}
	stream.OnReady(func() {
		for ev, ok := stream.Next(); ok; ev, ok = stream.Next() {
			if object, is := ev.Object.(metav1.Object); is && ev.Type != watch.Bookmark {
				o, exists := all.StoredOne(gr, object.GetNamespace(), object.GetName())
				i.set(objectName{object.GetNamespace(), object.GetName()}, sealedAs(o), exists)
			}
		}
	})
	return nil
}

// learnRaw remembers a configuration by its hash.
func (s *State) learnRaw(raw []byte) {
	if len(raw) == 0 {
		return
	}
	hash := encryption.HashOf(raw)
	if _, known := s.configs[hash]; known {
		return
	}
	loaded, err := config.Decode(&corev1.Secret{Data: map[string][]byte{config.Configuration: raw}})
	if err == nil {
		s.configs[hash] = loaded
	}
}
