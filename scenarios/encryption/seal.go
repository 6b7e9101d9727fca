package encryption

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// sealed is an object as it is stored.
type sealed struct {
	name string
	key  state.Key // that it is encrypted with; the zero Key if it is not
	kek  string
}

func (o *sealed) by(k state.Key) bool { return o.key.Exists() && o.key.Equal(k) }

// writtenWith reports whether o is stored as an API server stores it that writes with
// k.
func (o *sealed) writtenWith(k state.Key) bool {
	if k.Mode == state.Identity {
		return !o.key.Exists()
	}
	return o.by(k)
}

func (o *sealed) how() string {
	if !o.key.Exists() {
		return "stored as it is"
	}
	return "encrypted with " + keyName(o.key)
}

// stored are the objects of a resource as they are stored.
func (s *State) stored(gr schema.GroupResource) []sealed { return nil }

// load hands a configuration to the API server.
func (v *server) load(_ context.Context, raw []byte) error {
	v.raw, v.loaded = raw, nil
	if raw == nil {
		return nil
	}
	loaded, err := config.Decode(&corev1.Secret{Data: map[string][]byte{config.Configuration: raw}})
	if err != nil {
		return err
	}
	v.loaded = loaded
	v.state.learnRaw(raw)
	return nil
}
