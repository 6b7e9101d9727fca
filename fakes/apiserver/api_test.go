package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// The tests are named TestRuleNN…: NN is the number of the rules in the package
// documentation. All of them run with the guard on stored objects.

// handClock is a clock that a test moves.
type handClock struct {
	clock.PassiveClock
	now time.Time
}

func (c *handClock) Now() time.Time                  { return c.now }
func (c *handClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// api makes requests in one namespace and fails the test on surprises.
type api struct {
	testing.TB
	*apiserver.Server
	clock *handClock
	ns    string
	user  *apiserver.User
}

func newAPI(t testing.TB, change ...func(*apiserver.Options)) *api {
	t.Helper()
	c := &handClock{now: time.Date(2030, 1, 1, 12, 0, 0, 700_000_000, time.UTC)}
	o := apiserver.Options{Clock: c, Guard: true}
	for _, f := range change {
		f(&o)
	}
	return &api{TB: t, Server: apiserver.New(o), clock: c, ns: "default"}
}

var (
	configMaps  = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets     = corev1.SchemeGroupVersion.WithResource("secrets")
	pods        = corev1.SchemeGroupVersion.WithResource("pods")
	services    = corev1.SchemeGroupVersion.WithResource("services")
	namespaces  = corev1.SchemeGroupVersion.WithResource("namespaces")
	nodes       = corev1.SchemeGroupVersion.WithResource("nodes")
	deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
)

// request returns a request on a resource, in the test's namespace.
func (a *api) request(verb apiserver.Verb, gvr schema.GroupVersionResource, name string, opts ...func(*apiserver.Request)) *apiserver.Request {
	r := &apiserver.Request{Verb: verb, Resource: gvr, Namespace: a.ns, Name: name, User: a.user}
	for _, f := range opts {
		f(r)
	}
	return r
}

// must makes a request that has to succeed.
func (a *api) must(r *apiserver.Request) *apiserver.Response {
	a.Helper()
	resp, err := a.Do(r)
	if err != nil {
		a.Fatalf("%s %s/%s %s: %v", r.Verb, r.Resource.Resource, r.Subresource, r.Name, err)
	}
	return resp
}

func (a *api) create(gvr schema.GroupVersionResource, obj apiserver.Object, opts ...func(*apiserver.Request)) apiserver.Object {
	a.Helper()
	return a.must(a.request(apiserver.Create, gvr, "", append([]func(*apiserver.Request){body(obj)}, opts...)...)).Object
}

func (a *api) get(gvr schema.GroupVersionResource, name string, opts ...func(*apiserver.Request)) apiserver.Object {
	a.Helper()
	return a.must(a.request(apiserver.Get, gvr, name, opts...)).Object
}

func (a *api) update(gvr schema.GroupVersionResource, obj apiserver.Object, opts ...func(*apiserver.Request)) apiserver.Object {
	a.Helper()
	return a.must(a.request(apiserver.Update, gvr, obj.GetName(), append([]func(*apiserver.Request){body(obj)}, opts...)...)).Object
}

func (a *api) patch(gvr schema.GroupVersionResource, name, patch string, opts ...func(*apiserver.Request)) apiserver.Object {
	a.Helper()
	return a.must(a.request(apiserver.Patch, gvr, name, append([]func(*apiserver.Request){merge(patch)}, opts...)...)).Object
}

func (a *api) delete(gvr schema.GroupVersionResource, name string, opts ...func(*apiserver.Request)) *apiserver.Response {
	a.Helper()
	return a.must(a.request(apiserver.Delete, gvr, name, opts...))
}

func (a *api) list(gvr schema.GroupVersionResource, opts ...func(*apiserver.Request)) *apiserver.Response {
	a.Helper()
	return a.must(a.request(apiserver.List, gvr, "", opts...))
}

func (a *api) watch(gvr schema.GroupVersionResource, opts ...func(*apiserver.Request)) *apiserver.Watch {
	a.Helper()
	w, err := a.Watch(a.request(apiserver.WatchVerb, gvr, "", opts...))
	if err != nil {
		a.Fatalf("watch %s: %v", gvr.Resource, err)
	}
	return w
}

// refused makes a request that has to fail with the given code, reason and text.
func (a *api) refused(r *apiserver.Request, code int32, reason metav1.StatusReason, text string) metav1.Status {
	a.Helper()
	_, err := a.Do(r)
	return a.status(err, code, reason, text)
}

func (a *api) status(err error, code int32, reason metav1.StatusReason, text string) metav1.Status {
	a.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		a.Fatalf("want a %d %s, got %v", code, reason, err)
	}
	s := status.ErrStatus
	got := fmt.Sprintf("%d %s: %s", s.Code, s.Reason, s.Message)
	if want := fmt.Sprintf("%d %s: %s", code, reason, text); got != want {
		a.Errorf("refusal (-want +got):\n%s", cmp.Diff(want, got))
	}
	return s
}

// equal compares what a test has found.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Options of requests.

func body(obj apiserver.Object) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.Object = obj }
}

func raw(text string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.Body = []byte(text) }
}

func in(ns string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.Namespace = ns }
}

func sub(name string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.Subresource = name }
}

func merge(patch string) func(*apiserver.Request) {
	return patchType(types.MergePatchType, patch)
}

func patchType(kind types.PatchType, patch string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.PatchType, r.Body = kind, []byte(patch) }
}

func dryRun(r *apiserver.Request) { r.DryRun = []string{"All"} }

func version(rv string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.ResourceVersion = rv }
}

func match(m metav1.ResourceVersionMatch) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.ResourceVersionMatch = m }
}

func labelled(sel string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.LabelSelector = sel }
}

func fielded(sel string) func(*apiserver.Request) {
	return func(r *apiserver.Request) { r.FieldSelector = sel }
}

func deleteWith(change func(*metav1.DeleteOptions)) func(*apiserver.Request) {
	return func(r *apiserver.Request) {
		r.DeleteOptions = &metav1.DeleteOptions{}
		change(r.DeleteOptions)
	}
}

func grace(seconds int64) func(*apiserver.Request) {
	return deleteWith(func(o *metav1.DeleteOptions) { o.GracePeriodSeconds = &seconds })
}

// Objects.

func configMap(name string, change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, f := range change {
		f(cm)
	}
	return cm
}

func held(cm *corev1.ConfigMap) { cm.Finalizers = []string{"example.com/hold"} }

func data(k, v string) func(*corev1.ConfigMap) {
	return func(cm *corev1.ConfigMap) { cm.Data = map[string]string{k: v} }
}

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "image:v1"}}},
	}
}

func deployment(name string) *appsv1.Deployment {
	l := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: l},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: pod("", "").Spec},
		},
	}
}

func untyped(kind, apiVersion, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "apiVersion": apiVersion, "metadata": map[string]any{"name": name}}}
	for k, v := range content {
		u.Object[k] = v
	}
	return u
}

// names lists the items of a response.
func names(r *apiserver.Response) string {
	var out []string
	for _, o := range r.Items {
		out = append(out, o.GetName())
	}
	return strings.Join(out, " ")
}

// drain reads a watch: +name for ADDED, ~ for MODIFIED, - for DELETED, each with
// its resourceVersion; a bookmark is =, the end of initial events =end.
func drain(w apiserver.Stream) string {
	var out []string
	for {
		e, ok := w.Next()
		if !ok {
			return strings.Join(out, " ")
		}
		switch e.Type {
		case "ERROR":
			out = append(out, fmt.Sprintf("%d %s: %s", e.Status.Code, e.Status.Reason, e.Status.Message))
		case "BOOKMARK":
			mark := "="
			if e.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				mark = "=end"
			}
			out = append(out, mark+"@"+e.Object.GetResourceVersion())
		default:
			out = append(out, map[string]string{"ADDED": "+", "MODIFIED": "~", "DELETED": "-"}[string(e.Type)]+e.Object.GetName()+"@"+e.Object.GetResourceVersion())
		}
	}
}
