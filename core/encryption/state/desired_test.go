package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/secret"
)

var (
	secrets    = schema.GroupResource{Resource: "secrets"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
	widgets    = schema.GroupResource{Group: "example.com", Resource: "widgets"}
)

func key(id uint64, migrated ...schema.GroupResource) state.Key {
	return state.Key{
		ID: id, Mode: state.AESCBC, Backed: true, Migrated: state.Migrated{Resources: migrated},
		Material: secret.New(slices.Repeat([]byte{byte(id)}, state.MaterialSize)),
	}
}

func given(k state.Key) state.Key {
	k.GivenUp = true
	return k
}

func ids(keys []state.Key) string {
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprint(k.ID))
	}
	return strings.Join(out, " ")
}

func TestRetained(t *testing.T) {
	both := []schema.GroupResource{secrets, configMaps}
	for _, c := range []struct {
		name string
		grs  []schema.GroupResource
		keys []state.Key
		want string
	}{
		{"nothing was ever migrated", both, []state.Key{key(3), key(2), key(1)}, "3 2 1"},
		{"the newest has it all", both, []state.Key{key(3, both...), key(2, both...), key(1)}, "3 2"},
		{"the only one has it all", both, []state.Key{key(3, both...)}, "3"},
		{"an older one has it all", both, []state.Key{key(4), key(3, both...), key(2, both...), key(1)}, "4 3 2"},
		{"two have it between them", both, []state.Key{key(4, secrets), key(3, configMaps), key(2, both...), key(1)}, "4 3 2"},
		{"a resource is nowhere", both, []state.Key{key(3, secrets), key(2, secrets), key(1)}, "3 2 1"},
		{"other resources do not count", []schema.GroupResource{secrets}, []state.Key{key(3, configMaps), key(2, secrets), key(1)}, "3 2 1"},
		{"the newest is given up", both, []state.Key{given(key(3, secrets)), key(2, both...), key(1), key(0)}, "3 2 1"},
		{"the newest is given up, and has it all", both, []state.Key{given(key(3, both...)), key(2, both...), key(1)}, "3 2 1"},
		{"the one before is given up", both, []state.Key{key(3, both...), given(key(2)), key(1, both...), key(0)}, "3 1"},
		{"all are given up", both, []state.Key{given(key(2, both...)), given(key(1, both...))}, "2 1"},
		{"no keys", both, nil, ""},
	} {
		if got := ids(state.Retained(c.grs, c.keys)); got != c.want {
			t.Errorf("%s: keys %q, want %q", c.name, got, c.want)
		}
	}
}
