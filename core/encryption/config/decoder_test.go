package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// written is a configuration in which key id writes, and those before it read too.
func written(t *testing.T, id uint64) *corev1.Secret {
	t.Helper()
	var keys []state.Key
	for i := id; i > 0 && i+2 > id; i-- {
		material := make([]byte, state.MaterialSize)
		material[0] = byte(i)
		keys = append(keys, state.Key{ID: i, Mode: state.AESCBC, Material: secret.New(material)})
	}
	s, err := config.Encode(state.State{{GroupResource: schema.GroupResource{Resource: "secrets"}, Write: &keys[0], Read: keys}}, client.ObjectKey{Name: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writes is the id of the key that writes.
func writes(t *testing.T, d *config.Decoder, s *corev1.Secret) uint64 {
	t.Helper()
	on, err := d.Decode(s)
	if err != nil {
		t.Fatal(err)
	}
	return on[0].Write.ID
}

// TestDecoder says of each configuration what Decode says, be it remembered, forgotten
// or another under the same name.
func TestDecoder(t *testing.T) {
	var d config.Decoder
	for range 3 {
		for id := uint64(1); id < 12; id++ {
			for range 2 {
				if got := writes(t, &d, written(t, id)); got != id {
					t.Errorf("key %d writes, expected %d", got, id)
				}
			}
		}
	}
	s := written(t, 1)
	if got := writes(t, nil, s); got != 1 {
		t.Errorf("without a memory, key %d writes", got)
	}
	writes(t, &d, s)
	s.Data[config.Configuration] = written(t, 2).Data[config.Configuration]
	if got := writes(t, &d, s); got != 2 {
		t.Errorf("a configuration that was changed where it lies is taken for what it was: key %d writes", got)
	}
	s.Data[config.Configuration] = []byte("{")
	for range 2 {
		if _, err := d.Decode(s); err == nil {
			t.Error("what is no configuration has been decoded")
		}
	}
}

// TestDecodedIsShared: what is worked out of a state leaves it as it was.
func TestDecodedIsShared(t *testing.T) {
	var d config.Decoder
	s := written(t, 3)
	on, err := d.Decode(s)
	if err != nil {
		t.Fatal(err)
	}
	next := state.Key{ID: 4, Mode: state.AESCBC, Material: secret.New([]byte("other")), Backed: true}
	state.Desired(on, []state.Key{next}, []schema.GroupResource{{Resource: "configmaps"}})
	on.Enriched([]state.Key{next})
	on.WithGivenUp([]uint64{3}).FallBack()
	on.ReadKeys()
	fresh, err := config.Decode(s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fresh, on, cmp.Comparer(secret.Bytes.Equal), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-fresh +shared):\n%s", d)
	}
}
