package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
)

// contents draws what somebody applies, with nothing empty in it.
var contents = rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	u.SetName("a")
	set := func(value any, path ...string) {
		if rapid.Bool().Draw(t, fmt.Sprint(path)) {
			_ = unstructured.SetNestedField(u.Object, value, path...)
		}
	}
	number := rapid.Int64Range(1, 2)
	set(number.Draw(t, "replicas"), "spec", "replicas")
	set("x", "metadata", "labels", "a")
	set("y", "metadata", "labels", "b")
	set("z", "metadata", "annotations", "a")
	var containers []any
	for _, name := range []string{"c", "d"} {
		if rapid.Bool().Draw(t, name) {
			c := map[string]any{"name": name}
			if rapid.Bool().Draw(t, "image") {
				c["image"] = fmt.Sprint(number.Draw(t, "image number"))
			}
			containers = append(containers, c)
		}
	}
	if len(containers) > 0 {
		_ = unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers")
	}
	return u
})

// TestWhoAppliesAgainIsToldTheSame compares applies, many of which apply again what is
// owned, with what the library makes of them when it searches for what is to go.
func TestWhoAppliesAgainIsToldTheSame(t *testing.T) {
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	m := NewManager(Config{
		Kind: kind, Types: BuiltinTypes(),
		New: func() runtime.Object {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(kind)
			return u
		},
	})
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		live := m.cfg.New()
		var owners *Owners
		last := map[string]*unstructured.Unstructured{}
		now := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
		for range rapid.IntRange(2, 8).Draw(t, "writes") {
			name := rapid.SampledFrom([]string{"m1", "m2"}).Draw(t, "manager")
			config := contents.Draw(t, "config")
			if before := last[name]; before != nil && rapid.Bool().Draw(t, "again") {
				config = before.DeepCopy()
				if _, ok, _ := unstructured.NestedInt64(config.Object, "spec", "replicas"); ok {
					_ = unstructured.SetNestedField(config.Object, rapid.Int64Range(1, 3).Draw(t, "changed"), "spec", "replicas")
				}
			}
			last[name] = config
			force := rapid.Bool().Draw(t, "force")
			wanted, err := m.cfg.Types.ObjectToTyped(config)
			if err != nil {
				t.Fatal(err)
			}
			before, err := m.cfg.Types.ObjectToTyped(live)
			if err != nil {
				t.Fatal(err)
			}
			want, id := owners.copy(), m.id(name, metav1.ManagedFieldsOperationApply)
			if m.keepsAll(want, id, live, config, wanted) {
				kept++
			}
			after, sets, wantErr := m.updater.Apply(before, wanted, m.version(), want.sets, id, force)
			obj, next, err := m.apply(owners, live, config, name, force, now)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			if err != nil {
				continue
			}
			want.sets, want.times = sets, next.times
			m.stripOwner(want, id)
			if !Same(want, next) {
				t.Fatalf("owners %v, want %v", next.Entries(), want.Entries())
			}
			if owners = next; after == nil {
				if obj != nil {
					t.Fatal("an object, want none")
				}
				continue
			}
			result, err := m.cfg.Types.TypedToObject(after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(result, runtime.Object(obj)); diff != "" {
				t.Fatalf("object (-library +ours):\n%s", diff)
			}
			live = result
		}
	})
	if kept == 0 {
		t.Error("nobody applied again what he owned")
	}
	t.Logf("%d applies again", kept)
}
