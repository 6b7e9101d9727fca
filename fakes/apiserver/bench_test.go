package apiserver_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakeclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// The benchmarks compare the server with controller-runtime's fake client in the
// same run. Each operation is done through "direct" requests to the server,
// through our client, and through the fake in its default form and with a plain
// object tracker. Like the fake, our client does not return managed fields;
// BenchmarkManagedFields shows what they cost.

// benchPod is a Pod of about 3 kB in JSON.
func benchPod(i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: fmt.Sprintf("pod-%06d", i),
		Labels:      map[string]string{"app": "web", "hundredth": fmt.Sprint(i % 100), "pod-template-hash": "5d4f8c7b9"},
		Annotations: map[string]string{"example.com/checksum": strings.Repeat("ab", 32), "example.com/note": strings.Repeat("n", 100)},
	}}
	for c := range 2 {
		k := corev1.Container{
			Name: fmt.Sprintf("c%d", c), Image: "registry.example.com/team/app:v1.2.3", Args: []string{"--verbose", "--port=8080", "--cluster=main"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
			Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
				Requests: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("512Mi")},
			},
			LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}},
			VolumeMounts:  []corev1.VolumeMount{{Name: "config", MountPath: "/etc/config"}, {Name: "data", MountPath: "/data"}},
		}
		for e := range 6 {
			k.Env = append(k.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", e), Value: strings.Repeat("v", 20)})
		}
		p.Spec.Containers = append(p.Spec.Containers, k)
	}
	p.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}}},
		{Name: "data"},
	}
	return p
}

// benchSecret is a Secret of about 5 kB in JSON.
func benchSecret(i int) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: fmt.Sprintf("secret-%06d", i),
		Labels: map[string]string{"app": "web", "hundredth": fmt.Sprint(i % 100)},
	}, Data: map[string][]byte{}}
	for k := range 5 {
		s.Data[fmt.Sprintf("key-%d", k)] = []byte(strings.Repeat("s", 700))
	}
	return s
}

// subject is one way to do an operation.
type subject struct {
	name string
	make func(b *testing.B) client.Client
}

var subjects = []subject{
	{"client", func(*testing.B) client.Client {
		return fakeclient.New(apiserver.New(apiserver.Options{}), scheme.Scheme, fakeclient.WithoutManagedFields())
	}},
	{"cr-plain", func(*testing.B) client.Client {
		tracker := clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
		return crfake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjectTracker(tracker).Build()
	}},
	{"cr-default", func(*testing.B) client.Client { return crfake.NewClientBuilder().WithScheme(scheme.Scheme).Build() }},
}

// kinds are the objects that the benchmarks are run on.
var kinds = []struct {
	name string
	make func(i int) client.Object
	new  func() client.Object
	list func() client.ObjectList
	edit func(o client.Object, n int)
}{
	{"Pod", func(i int) client.Object { return benchPod(i) }, func() client.Object { return &corev1.Pod{} }, func() client.ObjectList { return &corev1.PodList{} },
		func(o client.Object, n int) { o.SetAnnotations(map[string]string{"n": fmt.Sprint(n)}) }},
	{"Secret", func(i int) client.Object { return benchSecret(i) }, func() client.Object { return &corev1.Secret{} }, func() client.ObjectList { return &corev1.SecretList{} },
		func(o client.Object, n int) { o.(*corev1.Secret).Data["n"] = []byte(fmt.Sprint(n)) }},
}

const objects = 1000

func filled(b *testing.B, s subject, n int, make func(int) client.Object) client.Client {
	c := s.make(b)
	for i := range n {
		if err := c.Create(b.Context(), make(i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	return c
}

// each runs f for every kind and subject, on a store with 1000 objects.
func each(b *testing.B, f func(b *testing.B, c client.Client, kind int)) {
	for k := range kinds {
		for _, s := range subjects {
			b.Run(kinds[k].name+"/"+s.name, func(b *testing.B) {
				n := objects
				if s.name == "cr-default" {
					n = 100 // filling takes milliseconds for each object
				}
				f(b, filled(b, s, n, kinds[k].make), k)
			})
		}
	}
}

func BenchmarkGet(b *testing.B) {
	each(b, func(b *testing.B, c client.Client, kind int) {
		key := client.ObjectKeyFromObject(kinds[kind].make(50))
		for b.Loop() {
			if err := c.Get(b.Context(), key, kinds[kind].new()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkList100(b *testing.B) {
	for k := range kinds {
		for _, s := range subjects {
			b.Run(kinds[k].name+"/"+s.name, func(b *testing.B) {
				c := filled(b, s, 100, kinds[k].make)
				for b.Loop() {
					if err := c.List(b.Context(), kinds[k].list()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkReadModifyWrite(b *testing.B) {
	each(b, func(b *testing.B, c client.Client, kind int) {
		key := client.ObjectKeyFromObject(kinds[kind].make(50))
		n := 0
		for b.Loop() {
			obj := kinds[kind].new()
			if err := c.Get(b.Context(), key, obj); err != nil {
				b.Fatal(err)
			}
			n++
			kinds[kind].edit(obj, n)
			if err := c.Update(b.Context(), obj); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCreateDelete(b *testing.B) {
	each(b, func(b *testing.B, c client.Client, kind int) {
		for b.Loop() {
			obj := kinds[kind].make(objects)
			if err := c.Create(b.Context(), obj); err != nil {
				b.Fatal(err)
			}
			if err := c.Delete(b.Context(), obj, client.GracePeriodSeconds(0)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLabelList lists 1 % of the objects by a label.
func BenchmarkLabelList(b *testing.B) {
	sel := client.MatchingLabels{"hundredth": "7"}
	for _, size := range []int{10_000, 100_000} {
		for _, s := range subjects[:2] {
			b.Run(fmt.Sprintf("%d/%s", size, s.name), func(b *testing.B) {
				if size > 10_000 && testing.Short() {
					b.Skip("filling takes long")
				}
				c := filled(b, s, size, func(i int) client.Object {
					s := benchSecret(i)
					s.Data = map[string][]byte{"key": []byte("value")}
					return s
				})
				if err := c.List(b.Context(), &corev1.SecretList{}, sel); err != nil { // makes the index
					b.Fatal(err)
				}
				b.ResetTimer()
				for b.Loop() {
					list := &corev1.SecretList{}
					if err := c.List(b.Context(), list, sel); err != nil || len(list.Items) != size/100 {
						b.Fatal(len(list.Items), err)
					}
				}
			})
		}
	}
}

// BenchmarkFanOut writes one object that ten watchers see.
func BenchmarkFanOut(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name+"/direct", func(b *testing.B) { fanOutDirect(b, k.make, k.edit) })
		for _, s := range subjects[1:] {
			b.Run(k.name+"/"+s.name, func(b *testing.B) { fanOutFake(b, s, k.make, k.list(), k.edit) })
		}
	}
}

func fanOutDirect(b *testing.B, make func(int) client.Object, edit func(client.Object, int)) {
	s := apiserver.New(apiserver.Options{})
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	if _, ok := make(0).(*corev1.Secret); ok {
		gvr.Resource = "secrets"
	}
	r, err := s.Do(&apiserver.Request{Verb: apiserver.Create, Resource: gvr, Namespace: "default", Object: make(0)})
	if err != nil {
		b.Fatal(err)
	}
	obj := r.Object
	var watches []*apiserver.Watch
	for range 10 {
		w, err := s.Watch(&apiserver.Request{Resource: gvr, Namespace: "default", ResourceVersion: obj.GetResourceVersion()})
		if err != nil {
			b.Fatal(err)
		}
		watches = append(watches, w)
	}
	n := 0
	for b.Loop() {
		n++
		edit(obj.(client.Object), n)
		r, err := s.Do(&apiserver.Request{Verb: apiserver.Update, Resource: gvr, Namespace: "default", Name: obj.GetName(), Object: obj, Shared: true})
		if err != nil {
			b.Fatal(err)
		}
		obj.SetResourceVersion(r.Object.GetResourceVersion())
		for _, w := range watches {
			if _, ok := w.Next(); !ok {
				b.Fatal("no event")
			}
		}
	}
}

func fanOutFake(b *testing.B, s subject, make func(int) client.Object, list client.ObjectList, edit func(client.Object, int)) {
	c := s.make(b).(client.WithWatch)
	obj := make(0)
	if err := c.Create(b.Context(), obj); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	seen := [10]<-chan struct{}{}
	for i := range seen {
		w, err := c.Watch(ctx, list, client.InNamespace("default"))
		if err != nil {
			b.Fatal(err)
		}
		ch := newCounter(w.ResultChan())
		seen[i] = ch
	}
	n := 0
	for b.Loop() {
		n++
		edit(obj, n)
		if err := c.Update(b.Context(), obj); err != nil {
			b.Fatal(err)
		}
		for _, ch := range seen {
			<-ch
		}
	}
}

func newCounter[T any](in <-chan T) <-chan struct{} {
	out := make(chan struct{}, 100)
	go func() {
		for range in {
			out <- struct{}{}
		}
	}()
	return out
}

// BenchmarkDirect measures the server without any client.
func BenchmarkDirect(b *testing.B) {
	for _, k := range kinds {
		s := apiserver.New(apiserver.Options{})
		gvr := corev1.SchemeGroupVersion.WithResource(strings.ToLower(k.name) + "s")
		for i := range objects {
			if _, err := s.Do(&apiserver.Request{Verb: apiserver.Create, Resource: gvr, Namespace: "default", Object: k.make(i), Owned: true}); err != nil {
				b.Fatal(err)
			}
		}
		get := apiserver.Request{Verb: apiserver.Get, Resource: gvr, Namespace: "default", Name: k.make(50).GetName()}
		b.Run(k.name+"/get-shared", func(b *testing.B) { b.ReportAllocs(); do(b, s, get, true) })
		b.Run(k.name+"/get-owned", func(b *testing.B) { b.ReportAllocs(); do(b, s, get, false) })
		list := apiserver.Request{Verb: apiserver.List, Resource: gvr, Namespace: "default", Labels: labels.SelectorFromSet(labels.Set{"hundredth": "7"})}
		b.Run(k.name+"/list-10-shared", func(b *testing.B) { b.ReportAllocs(); do(b, s, list, true) })
		b.Run(k.name+"/list-10-owned", func(b *testing.B) { b.ReportAllocs(); do(b, s, list, false) })
		for _, mode := range []string{"update", "update-owned", "noop"} {
			b.Run(k.name+"/"+mode, func(b *testing.B) {
				b.ReportAllocs()
				r, err := s.Do(&get)
				if err != nil {
					b.Fatal(err)
				}
				obj := r.Object.(client.Object)
				n := 0
				for b.Loop() {
					n++
					put := apiserver.Request{Verb: apiserver.Update, Resource: gvr, Namespace: "default", Name: get.Name, Object: obj, Shared: true}
					if mode != "noop" {
						k.edit(obj, n)
					}
					if mode == "update-owned" {
						put.Object, put.Owned = obj.DeepCopyObject().(client.Object), true
					}
					r, err := s.Do(&put)
					if err != nil {
						b.Fatal(err)
					}
					obj.SetResourceVersion(r.Object.GetResourceVersion())
				}
			})
		}
	}
}

func do(b *testing.B, s *apiserver.Server, req apiserver.Request, shared bool) {
	req.Shared = shared
	for b.Loop() {
		if _, err := s.Do(&req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManagedFields is BenchmarkReadModifyWrite for clients that return
// managed fields.
func BenchmarkManagedFields(b *testing.B) {
	for _, s := range []subject{
		{"client", func(*testing.B) client.Client {
			return fakeclient.New(apiserver.New(apiserver.Options{}), scheme.Scheme)
		}},
		{"cr", func(*testing.B) client.Client {
			return crfake.NewClientBuilder().WithScheme(scheme.Scheme).WithReturnManagedFields().Build()
		}},
	} {
		b.Run("Pod/"+s.name, func(b *testing.B) {
			c := filled(b, s, 1, kinds[0].make)
			key := client.ObjectKeyFromObject(kinds[0].make(0))
			n := 0
			for b.Loop() {
				obj := &corev1.Pod{}
				if err := c.Get(b.Context(), key, obj); err != nil {
					b.Fatal(err)
				}
				n++
				kinds[0].edit(obj, n)
				if err := c.Update(b.Context(), obj); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNewStore is what every simulated run pays first.
func BenchmarkNewStore(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		apiserver.New(apiserver.Options{})
	}
}

// BenchmarkPatch is what a controller does that writes status by merge patches.
func BenchmarkPatch(b *testing.B) {
	for _, s := range subjects {
		b.Run("Pod/"+s.name, func(b *testing.B) {
			c := s.make(b)
			obj := benchPod(0)
			if err := c.Create(b.Context(), obj); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				n++
				patch := client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"status":{"message":"%d"}}`, n)))
				if err := c.Status().Patch(b.Context(), obj, patch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApply applies a configuration again and again, in which one value changes, as
// an agent does that reports what it sees.
func BenchmarkApply(b *testing.B) {
	for _, s := range subjects {
		if s.name == "cr-plain" {
			continue // it does not know who owns what
		}
		b.Run(s.name, func(b *testing.B) {
			c := s.make(b)
			n := 0
			for b.Loop() {
				n++
				data := map[string]any{"at": strconv.Itoa(n)}
				for i := range 20 {
					data[fmt.Sprintf("value-%d", i)] = "the same"
				}
				config := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "report", "namespace": "default"}, "data": data,
				}}
				if err := c.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(config), client.FieldOwner("agent")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
