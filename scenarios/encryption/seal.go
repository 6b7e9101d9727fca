package encryption

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
)

// sealed is an object as it is stored.
type sealed struct {
	name string
	mode state.Mode // of the key; empty if it is stored as it is
	id   uint64
	kek  string
}

// plain reports whether the object is stored as it is.
func (o *sealed) plain() bool { return o.mode == "" }

// by reports whether the object is encrypted with k.
func (o *sealed) by(k state.Key) bool { return !o.plain() && o.mode == k.Mode && o.id == k.ID }

// readBy reports whether one of keys decrypts the object.
func (o *sealed) readBy(keys []state.Key) bool {
	for _, k := range keys {
		if o.by(k) {
			return true
		}
	}
	return o.plain()
}

// writtenWith reports whether o is stored as an API server stores it that writes with
// k.
func (o *sealed) writtenWith(k state.Key) bool {
	if k.Mode == state.Identity {
		return o.plain()
	}
	return o.by(k)
}

func (o *sealed) how() string {
	switch {
	case o.plain():
		return "stored as it is"
	case o.kek != "":
		return fmt.Sprintf("encrypted with %s key %d (%s)", o.mode, o.id, o.kek)
	default:
		return fmt.Sprintf("encrypted with %s key %d", o.mode, o.id)
	}
}

// inventory is what is stored of a resource, as of the last look.
type inventory struct {
	objects []sealed
	stale   bool
}

// stored are the objects of a resource as they are stored.
func (s *State) stored(gr schema.GroupResource) []sealed {
	i := s.inventories[gr]
	if i == nil {
		return nil
	}
	if i.stale {
		i.objects, i.stale = i.objects[:0], false
		for _, o := range s.world.Cluster.Store().Stored(gr) {
			i.objects = append(i.objects, sealedAs(gr, o))
		}
	}
	return i.objects
}

func sealedAs(gr schema.GroupResource, o apiserver.StoredObject) sealed {
	out := sealed{name: fmt.Sprintf("%s %s/%s", gr.Resource, o.Namespace, o.Name), kek: o.SealedBy.KEK}
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
	i := &inventory{stale: true}
	s.inventories[gr] = i
	stream, err := s.observer.OpenWatch(background, &apiserver.Request{Verb: apiserver.WatchVerb, Resource: gr.WithVersion(kind.Version)})
	if err != nil {
		return fmt.Errorf("watch %s: %w", gr, err)
	}
	stream.OnReady(func() {
		for _, ok := stream.Next(); ok; _, ok = stream.Next() {
			i.stale = true
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
