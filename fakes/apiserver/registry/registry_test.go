package registry

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/randfill"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// random returns an object of the kind with anything in it.
func random(k *Kind, seed int64) Object {
	obj := k.New()
	randfill.NewWithSeed(seed).NilChance(0.4).NumElements(1, 2).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(9), resource.DecimalSI)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1e9), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) { *t = metav1.NewMicroTime(time.Unix(c.Int63n(1e9), 0)) },
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31n(9)) },
		func(r *runtime.RawExtension, _ randfill.Continue) { *r = runtime.RawExtension{Raw: []byte(`{"a":1}`)} },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString("{}") },
		func(s *apiextensions.JSONSchemaProps, c randfill.Continue) { // it contains itself
			s.Title, s.Default = c.String(0), &apiextensions.JSON{Raw: []byte(`{"a":1}`)}
		},
	).Fill(obj)
	obj.SetName("a")
	return obj
}

func text(t *testing.T, obj Object) string {
	t.Helper()
	b, err := json.MarshalIndent(obj, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// everyKind runs f on random objects of each kind that has a Go type.
func everyKind(t *testing.T, f func(t *testing.T, k *Kind, obj Object)) {
	for _, e := range New().Entries() {
		if e.Refused {
			continue
		}
		t.Run(e.Resource().GroupResource().String(), func(t *testing.T) {
			for seed := range int64(6) {
				obj := random(e.Kind, seed)
				if e.Default != nil {
					e.Default(obj)
				}
				e.Shape().Normalize(obj)
				f(t, e.Kind, obj)
			}
		})
	}
}

func TestDefaultsAreStable(t *testing.T) {
	everyKind(t, func(t *testing.T, k *Kind, obj Object) {
		again := obj.DeepCopyObject().(Object)
		if k.Default != nil {
			k.Default(again)
		}
		k.Shape().Normalize(again)
		if !k.Equal(obj, again) {
			t.Fatalf("defaulting twice:\n%s", cmp.Diff(text(t, obj), text(t, again)))
		}
	})
}

// TestRulesLeaveTheOldObjectAlone has every rule run on a new version that shares
// everything with the old one.
func TestRulesLeaveTheOldObjectAlone(t *testing.T) {
	everyKind(t, func(t *testing.T, k *Kind, old Object) {
		if !k.Pure {
			return
		}
		before := text(t, old)
		share := func() Object {
			obj := shape.ShallowCopy(old).(Object)
			obj.SetAnnotations(map[string]string{"changed": "yes"})
			return obj
		}
		c := &Context{User: &authz.User{Name: "u"}, Now: metav1.Unix(1e9, 0), Version: k.GroupVersion(), Peers: nobody{}, Definitions: nobody{}, Warn: func(string) {}}
		obj := share()
		if k.Default != nil {
			k.Default(obj)
		}
		k.BeforeUpdate(c, obj, old)
		check(k, c, obj, old)
		if k.Status != nil {
			obj = k.BeforeStatus(c, share(), old)
			if k.Status.Validate != nil {
				k.Status.Validate(c, obj, old)
			}
		}
		if after := text(t, old); after != before {
			t.Fatalf("the old object changed:\n%s", cmp.Diff(before, after))
		}
	})
}

// TestRulesTakeAnything has every rule for new objects run on nonsense.
func TestRulesTakeAnything(t *testing.T) {
	everyKind(t, func(t *testing.T, k *Kind, obj Object) {
		c := &Context{User: &authz.User{Name: "u"}, Now: metav1.Unix(1e9, 0), Version: k.GroupVersion(), Peers: nobody{}, Definitions: nobody{}, Warn: func(string) {}}
		k.BeforeCreate(c, obj)
		check(k, c, obj, nil)
		for _, f := range k.Fields {
			f.Get(obj)
		}
		if k.Scale != nil {
			k.Scale.SetReplicas(obj, 3)
			if k.Scale.Current(obj); k.Scale.Replicas(obj) != 3 || k.Scale.Selector(obj) == "\x00" {
				t.Fatal("the scale did not stay")
			}
		}
		for _, v := range k.Versions {
			if back := v.To(v.From(obj)); back.GetName() != obj.GetName() {
				t.Fatalf("converted to %v and back: %v", v.GroupVersionKind, back)
			}
		}
	})
}

func check(k *Kind, c *Context, obj, old Object) {
	if k.Admit != nil {
		_ = k.Admit(c, obj, old)
	}
	if old == nil && k.Validate != nil {
		k.Validate(c, obj)
	}
	if old != nil && k.ValidateUpdate != nil {
		k.ValidateUpdate(c, obj, old)
	}
	if k.Canonicalize != nil {
		k.Canonicalize(obj)
	}
	if k.Warn != nil {
		k.Warn(obj, old)
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, e := range New().Entries() {
		for _, n := range append([]string{e.Plural, e.Singular}, e.ShortNames...) {
			key := n + "." + e.Group
			if other, ok := seen[key]; ok && other != e.Kind.Kind {
				t.Errorf("%s names %s and %s", key, other, e.Kind.Kind)
			}
			seen[key] = e.Kind.Kind
		}
	}
}

type nobody struct{}

func (nobody) Peer(schema.GroupResource, string, string) (Object, bool) { return nil, false }

func (nobody) Peers(schema.GroupResource, string) []Object { return nil }

func (nobody) PeerBy(schema.GroupResource, *store.Field, string) bool { return false }

func (nobody) Next(string) uint64 { return 1 }

func (nobody) Validate(*Context, *apiextensions.CustomResourceDefinition, *apiextensions.CustomResourceDefinition) field.ErrorList {
	return nil
}

func (nobody) ValidateStatus(*apiextensions.CustomResourceDefinition, *apiextensions.CustomResourceDefinition) field.ErrorList {
	return nil
}
