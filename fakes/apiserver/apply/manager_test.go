package apply_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/apply"
)

var deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

func ignored(paths ...string) map[fieldpath.APIVersion]fieldpath.Filter {
	set := fieldpath.NewSet()
	for _, p := range paths {
		set.Insert(fieldpath.MakePathOrDie(p))
	}
	return fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{"apps/v1": set})
}

func ours(subresource string, filter map[fieldpath.APIVersion]fieldpath.Filter) *apply.Manager {
	return apply.NewManager(apply.Config{
		Kind: deploymentKind, Subresource: subresource, Types: apply.BuiltinTypes(), Ignored: filter,
		New: func() runtime.Object { d := &appsv1.Deployment{}; d.SetGroupVersionKind(deploymentKind); return d },
		Convert: func(obj runtime.Object, to schema.GroupVersion) (runtime.Object, error) {
			return nil, runtime.NewNotRegisteredErrForKind("test", to.WithKind("Deployment"))
		},
	})
}

// noDefaults leaves objects as they are.
type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// theirs is the field manager of a real server.
func theirs(t testing.TB, subresource string, filter map[fieldpath.APIVersion]fieldpath.Filter) *managedfields.FieldManager {
	m, err := managedfields.NewDefaultFieldManager(apply.BuiltinTypes(), scheme.Scheme, noDefaults{}, scheme.Scheme,
		deploymentKind, deploymentKind.GroupVersion(), subresource, filter)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// plain leaves out the times of entries: the library reads them off the clock.
func plain(entries []metav1.ManagedFieldsEntry) map[string]string {
	out := map[string]string{}
	for _, e := range entries {
		out[fmt.Sprintf("%s %s %s %q", e.Manager, e.Operation, e.APIVersion, e.Subresource)] = e.FieldsV1.GetRawString()
	}
	return out
}

// deployments draws a Deployment out of few enough parts that fields meet.
var deployments = rapid.Custom(func(t *rapid.T) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.SetGroupVersionKind(deploymentKind)
	d.Name, d.Namespace, d.UID = "a", "default", "1"
	some := func(name string) bool { return rapid.Bool().Draw(t, name) }
	values := rapid.SampledFrom([]string{"x", "y", "z"})
	if some("labels") {
		d.Labels = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), values, 0, 3).Draw(t, "label values")
	}
	if some("annotations") {
		d.Annotations = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), values, 0, 2).Draw(t, "annotation values")
	}
	if some("finalizer") {
		d.Finalizers = []string{"example.com/" + values.Draw(t, "finalizer value")}
	}
	if some("replicas") {
		n := rapid.Int32Range(0, 2).Draw(t, "replicas value")
		d.Spec.Replicas = &n
	}
	d.Spec.Paused = some("paused")
	for _, name := range []string{"c", "d"} {
		if !some("container " + name) {
			continue
		}
		c := corev1.Container{Name: name, Image: values.Draw(t, "image")}
		if some("env") {
			c.Env = []corev1.EnvVar{{Name: "E", Value: values.Draw(t, "env value")}}
		}
		if some("args") {
			c.Args = []string{values.Draw(t, "arg")}
		}
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, c)
	}
	if some("status") {
		d.Status.Replicas = rapid.Int32Range(0, 2).Draw(t, "status replicas")
		if some("condition") {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Available", Status: corev1.ConditionStatus(values.Draw(t, "available"))}}
		}
	}
	return d
})

// configurations draws what somebody applies.
var configurations = rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
	d := deployments.Draw(t, "configuration")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	for _, path := range [][]string{{"metadata", "uid"}, {"metadata", "creationTimestamp"}, {"spec", "selector"}, {"spec", "strategy"}, {"spec", "template", "metadata"}} {
		unstructured.RemoveNestedField(u.Object, path...)
	}
	if len(d.Spec.Template.Spec.Containers) == 0 {
		unstructured.RemoveNestedField(u.Object, "spec", "template")
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		_ = c
	}
	if list, ok, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers"); ok {
		for _, c := range list {
			delete(c.(map[string]any), "resources")
		}
		_ = unstructured.SetNestedSlice(u.Object, list, "spec", "template", "spec", "containers")
	}
	return u
})

// TestManagerIsTheLibrary plays random writes of several managers on ours and on
// the field manager of a real server.
func TestManagerIsTheLibrary(t *testing.T) {
	targets := []struct {
		name   string
		ours   *apply.Manager
		theirs *managedfields.FieldManager
	}{
		{"", ours("", ignored("status")), theirs(t, "", ignored("status"))},
		{"status", ours("status", ignored("spec")), theirs(t, "status", ignored("spec"))},
	}
	rapid.Check(t, func(t *rapid.T) {
		now := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
		empty := &appsv1.Deployment{}
		empty.SetGroupVersionKind(deploymentKind)
		var live *appsv1.Deployment // managed fields: the library's
		var owners *apply.Owners
		for i := range rapid.IntRange(1, 8).Draw(t, "writes") {
			target := targets[rapid.IntRange(0, 1).Draw(t, "target")]
			if live == nil {
				target = targets[0]
			}
			name := rapid.SampledFrom([]string{"m1", "m2", "m3", "kubectl", "m5", "m6", "m7"}).Draw(t, "manager")
			theirLive := empty.DeepCopy()
			var ourLive runtime.Object
			if live != nil {
				theirLive = live.DeepCopy()
				stripped := live.DeepCopy()
				stripped.ManagedFields = nil
				ourLive = stripped
			}
			now.Time = now.Add(time.Second)
			var result *appsv1.Deployment
			if rapid.Bool().Draw(t, "apply") {
				config := configurations.Draw(t, "config")
				force := rapid.Bool().Draw(t, "force")
				obj, next, err := target.ours.Apply(owners, ourLive, config.DeepCopy(), name, force, now)
				want, wantErr := target.theirs.Apply(theirLive, config.DeepCopy(), name, force)
				if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" && len(owners.Entries()) < 3 {
					t.Fatalf("write %d: error (-library +ours):\n%s", i, diff)
				}
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("write %d: %v, want %v", i, err, wantErr)
				}
				if err != nil {
					continue
				}
				result = want.(*appsv1.Deployment)
				merged := &appsv1.Deployment{}
				if obj == nil {
					merged = theirLive.DeepCopy()
				} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, merged); err != nil {
					t.Fatal(err)
				}
				merged.ManagedFields = result.ManagedFields
				if diff := cmp.Diff(result, merged); diff != "" {
					t.Fatalf("write %d: object (-library +ours):\n%s", i, diff)
				}
				owners = next
			} else {
				sent := deployments.Draw(t, "sent")
				want, err := target.theirs.Update(theirLive, sent.DeepCopy(), name)
				if err != nil {
					t.Fatal(err)
				}
				result = want.(*appsv1.Deployment)
				owners = target.ours.Update(owners, ourLive, sent, name, now)
			}
			if diff := cmp.Diff(plain(result.ManagedFields), plain(owners.Entries())); diff != "" {
				t.Fatalf("write %d: managed fields (-library +ours):\n%s", i, diff)
			}
			decoded, err := apply.Decode(owners.Entries())
			if err != nil || !apply.Same(decoded, owners) {
				t.Fatalf("write %d: the entries do not say what the owners do: %v", i, err)
			}
			live = result
			live.UID = "1"
		}
	})
}
