package shape

import (
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
)

// random returns a pod with everything in it that a Go value can hold.
func random(seed int64) *corev1.Pod {
	p := &corev1.Pod{}
	randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(9).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(9), resource.DecimalSI)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1e9), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) { *t = metav1.NewMicroTime(time.Unix(c.Int63n(1e9), 0)) },
	).Fill(p)
	p.TypeMeta = metav1.TypeMeta{}
	return p
}

// stored is obj as it comes back from a real server's storage.
func stored(t *testing.T, obj *corev1.Pod) *corev1.Pod {
	t.Helper()
	b, err := obj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	out := &corev1.Pod{}
	if err := out.Unmarshal(b); err != nil {
		t.Fatal(err)
	}
	return out
}

var alike = cmp.Options{
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 && (a.Format == b.Format || a.IsZero()) }),
	cmp.Comparer(func(a, b metav1.Time) bool { return a.Time.Equal(b.Time) }),
	cmp.Comparer(func(a, b metav1.MicroTime) bool { return a.Time.Equal(b.Time) }),
	cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) }),
}

func TestNormalizeGivesWhatAServerWouldReadBack(t *testing.T) {
	for seed := range int64(200) {
		p := random(seed)
		want := stored(t, p)
		s := Of(p, Protobuf)
		if !s.Equal(p, want) {
			t.Fatalf("seed %d: a round trip makes an object unequal:\n%s", seed, cmp.Diff(p, want, alike))
		}
		s.Normalize(p)
		if diff := cmp.Diff(want, p, alike); diff != "" {
			t.Fatalf("seed %d (-read back +normalised):\n%s", seed, diff)
		}
	}
}

func TestEqualSeesEveryChange(t *testing.T) {
	for seed := range int64(300) {
		a := random(seed)
		b := a.DeepCopy()
		s := Of(a, Protobuf)
		if !s.Equal(a, b) || !s.Same(a, b) {
			t.Fatalf("seed %d: a copy is not equal", seed)
		}
		if !mutate(reflect.ValueOf(b).Elem(), rand.New(rand.NewSource(seed))) {
			continue
		}
		if s.Equal(a, b) {
			t.Fatalf("seed %d: a change is not seen:\n%s", seed, cmp.Diff(a, b, alike))
		}
	}
}

// mutate changes one plain value somewhere in v.
func mutate(v reflect.Value, r *rand.Rand) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Pointer:
		return !v.IsNil() && mutate(v.Elem(), r)
	case reflect.Slice:
		return v.Len() > 0 && mutate(v.Index(r.Intn(v.Len())), r)
	case reflect.Struct:
		switch v.Type() {
		case timeType, microTimeType, quantityType:
			return false
		}
		for _, i := range r.Perm(v.NumField()) {
			if v.Field(i).CanSet() && mutate(v.Field(i), r) {
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}

func TestWhatCountsAsEqual(t *testing.T) {
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	pod := func(f func(*corev1.Pod)) *corev1.Pod { p := &corev1.Pod{}; f(p); return p }
	q := func(s string) *corev1.Pod {
		return pod(func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse(s)} })
	}
	start := func(at time.Time) *corev1.Pod {
		return pod(func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: at} })
	}
	for _, c := range []struct {
		what string
		a, b runtime.Object
		want bool
	}{
		{"nil and empty map", &corev1.Pod{}, pod(func(p *corev1.Pod) { p.Labels = map[string]string{} }), true},
		{"nil and empty list", &corev1.Pod{}, pod(func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{} }), true},
		{"nil and pointer to nothing", &corev1.Pod{}, pod(func(p *corev1.Pod) { p.Spec.SecurityContext = &corev1.PodSecurityContext{} }), false},
		{"two spellings of a quantity", q("0.5"), q("500m"), true},
		{"two families of a quantity", q("1Gi"), q("1073741824"), false},
		{"two amounts", q("1"), q("2"), false},
		{"the same second", start(at), start(at.Add(time.Second - 1)), true},
		{"the next second", start(at), start(at.Add(time.Second)), false},
		{"another time zone", start(at), start(at.In(time.FixedZone("", 3600))), true},
		{"empty value and none", pod(func(p *corev1.Pod) { p.Labels = map[string]string{"a": ""} }), pod(func(p *corev1.Pod) { p.Labels = map[string]string{"b": ""} }), false},
	} {
		if got := Of(c.a, Protobuf).Equal(c.a, c.b); got != c.want {
			t.Errorf("%s: equal is %v", c.what, got)
		}
	}
}

func TestJSONKeepsWhatItsTagsKeep(t *testing.T) {
	type spec struct {
		Kept    []string          `json:"kept"`
		Dropped map[string]string `json:"dropped,omitempty"`
	}
	type custom struct {
		corev1.Pod
		Spec spec `json:"spec"`
	}
	empty := &custom{Spec: spec{Kept: []string{}, Dropped: map[string]string{}}}
	s := OfType(reflect.TypeOf(empty), JSON)
	if s.ops.equal(s.pointer(empty), s.pointer(&custom{Spec: spec{Dropped: map[string]string{}}})) {
		t.Error("null and [] are equal")
	}
	s.Normalize(empty)
	if empty.Spec.Kept == nil || empty.Spec.Dropped != nil {
		t.Errorf("normalised to %#v", empty.Spec)
	}
}

func TestRecursiveTypesCompile(t *testing.T) {
	crd := func(n string) *apiextensionsv1.CustomResourceDefinition {
		c := &apiextensionsv1.CustomResourceDefinition{}
		inner := apiextensionsv1.JSONSchemaProps{Type: n, Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: n}}}
		c.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Not: &inner}}}}
		return c
	}
	s := Of(crd(""), Protobuf)
	if !s.Equal(crd("x"), crd("x")) || s.Equal(crd("x"), crd("y")) {
		t.Error("wrong answer on a recursive type")
	}
	s.Normalize(crd("x"))
}

func TestAssignKeepsWhatIsEqualAndWritesNothingShared(t *testing.T) {
	for seed := range int64(200) {
		src := random(seed)
		for _, dst := range []*corev1.Pod{src.DeepCopy(), random(seed + 1000)} {
			held, before := *dst, dst.DeepCopy() // somebody holds parts of dst
			kept := &dst.Spec.Containers
			s := Of(src, Protobuf)
			s.Assign(dst, src)
			if !s.Same(dst, src) {
				t.Fatalf("seed %d: not assigned:\n%s", seed, cmp.Diff(src, dst, alike))
			}
			if !s.Same(&held, before) {
				t.Fatalf("seed %d: an earlier holder sees a change", seed)
			}
			if len(src.Spec.Containers) > 0 && &(*kept)[0] == &src.Spec.Containers[0] {
				t.Fatalf("seed %d: memory is shared", seed)
			}
		}
	}
	p := random(1)
	p.Spec.Containers = []corev1.Container{{Name: "c"}}
	q := p.DeepCopy()
	q.ResourceVersion = "7"
	first := &p.Spec.Containers[0]
	Of(p, Protobuf).Assign(p, q)
	if p.ResourceVersion != "7" || &p.Spec.Containers[0] != first {
		t.Error("a change of one string copied the object")
	}
}

func TestDeriveSharesWithTheBaseOnly(t *testing.T) {
	for seed := range int64(200) {
		base, src := random(seed), random(seed)
		if seed%3 == 0 {
			src = random(seed + 1000)
		}
		src.Annotations = map[string]string{"changed": "yes"}
		src.Spec.HostNetwork = !base.Spec.HostNetwork
		keptBase, keptSrc := base.DeepCopy(), src.DeepCopy()
		s := Of(src, Protobuf)
		out := s.Derive(src, base).(*corev1.Pod)
		if !s.Same(out, src) {
			t.Fatalf("seed %d: not the same:\n%s", seed, cmp.Diff(src, out, alike))
		}
		mutate(reflect.ValueOf(src).Elem(), rand.New(rand.NewSource(seed)))
		src.Annotations["changed"] = "again"
		if !s.Same(out, keptSrc) {
			t.Fatalf("seed %d: memory is shared with the source", seed)
		}
		if seed%3 != 0 && len(base.Spec.Containers) > 0 && &out.Spec.Containers[0] != &base.Spec.Containers[0] {
			t.Fatalf("seed %d: equal lists are not shared with the base", seed)
		}
		out.Spec.Tolerations = append(out.Spec.Tolerations, corev1.Toleration{Key: "mine"})
		other := s.Derive(keptSrc, base).(*corev1.Pod)
		other.Spec.Tolerations = append(other.Spec.Tolerations, corev1.Toleration{Key: "other"})
		if out.Spec.Tolerations[len(out.Spec.Tolerations)-1].Key != "mine" || !s.Same(base, keptBase) {
			t.Fatalf("seed %d: appending writes into the base", seed)
		}
	}
}

func TestAdoptLetsGoOfOwnMemory(t *testing.T) {
	base := random(5)
	base.Spec.Containers = []corev1.Container{{Name: "c"}}
	obj := base.DeepCopy()
	obj.Labels = map[string]string{"new": "label"}
	want := obj.DeepCopy()
	s := Of(obj, Protobuf)
	s.Adopt(obj, base)
	if !s.Same(obj, want) {
		t.Error("the object changed")
	}
	if &obj.Spec.Containers[0] != &base.Spec.Containers[0] {
		t.Error("equal lists are not shared")
	}
}

func TestUnstructuredObjectsShareToo(t *testing.T) {
	var none *Shape
	make := func(label string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "a", "labels": map[string]any{"l": label}},
			"spec":     map[string]any{"list": []any{int64(1)}, "map": map[string]any{"k": "v"}},
		}}
	}
	base, src := make("1"), make("2")
	out := none.Derive(src, base).(*unstructured.Unstructured)
	if !none.Same(out, src) {
		t.Fatalf("derived %v", out.Object)
	}
	if reflect.ValueOf(out.Object["spec"]).Pointer() != reflect.ValueOf(base.Object["spec"]).Pointer() {
		t.Error("an equal spec is not shared")
	}
	out.SetName("b")
	out.SetLabels(map[string]string{"l": "3"})
	if base.GetName() != "a" || src.GetName() != "a" || base.GetLabels()["l"] != "1" {
		t.Error("a setter wrote into another object")
	}
	dst := make("1")
	spec := reflect.ValueOf(dst.Object["spec"]).Pointer()
	none.Assign(dst, src)
	if dst.GetLabels()["l"] != "2" || reflect.ValueOf(dst.Object["spec"]).Pointer() != spec {
		t.Error("assigned too much or too little")
	}
	none.Adopt(src, base)
	if src.GetLabels()["l"] != "2" || reflect.ValueOf(src.Object["spec"]).Pointer() != reflect.ValueOf(base.Object["spec"]).Pointer() {
		t.Error("nothing adopted")
	}
}

func TestParts(t *testing.T) {
	a, b := random(3), random(4)
	spec := Of(a, Protobuf).Part("spec")
	if !spec.Exists() || spec.Equal(a, b) {
		t.Fatal("the specs of two random pods are equal")
	}
	spec.Share(b, a)
	if !spec.Equal(a, b) {
		t.Error("a shared part is not equal")
	}
	spec.Clear(b)
	if !spec.IsZero(b) || spec.IsZero(a) {
		t.Error("cleared the wrong one")
	}
	if p := Of(a, Protobuf).Part("nope"); p.Exists() || !p.Equal(a, b) {
		t.Error("a part that is not there")
	}
	u := func(spec any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "X", "spec": spec, "status": int64(1)}}
	}
	var none *Shape
	if !none.Part("spec").Equal(u(int64(1)), u(float64(1))) || none.Part("spec").Equal(u("1"), u(int64(1))) {
		t.Error("unstructured parts")
	}
	beside := none.Beside("status")
	x := u(map[string]any{"a": []any{true, nil}})
	y := x.DeepCopy()
	y.Object["status"] = "other"
	if !beside(x, y) {
		t.Error("status was compared")
	}
	y.Object["more"] = ""
	if beside(x, y) {
		t.Error("another field was not compared")
	}
}

func TestShallowCopyHasItsOwnMetadata(t *testing.T) {
	for _, o := range []metav1.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}},
		&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "resourceVersion": "1"}}},
	} {
		c := ShallowCopy(o.(runtime.Object)).(metav1.Object)
		c.SetResourceVersion("2")
		if o.GetResourceVersion() != "1" || c.GetName() != "a" {
			t.Errorf("%T: the original changed", o)
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	p := random(7)
	q := p.DeepCopy()
	s := Of(p, Protobuf)
	b.Run("shape", func(b *testing.B) {
		for b.Loop() {
			s.Equal(p, q)
		}
	})
	b.Run("reflect.DeepEqual", func(b *testing.B) {
		for b.Loop() {
			reflect.DeepEqual(p, q)
		}
	})
	b.Run("deep copy", func(b *testing.B) {
		for b.Loop() {
			p.DeepCopy()
		}
	})
	b.Run("normalize", func(b *testing.B) {
		for b.Loop() {
			s.Normalize(q)
		}
	})
}
