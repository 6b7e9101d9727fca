package controllermanager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/controllermanager"
)

// testClock is a clock that a test moves.
type testClock struct{ now time.Time }

func (c *testClock) Now() time.Time                  { return c.now }
func (c *testClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// lab is an API server with controllers beside it. Everything is in the namespace
// default unless a name says otherwise: "other/x".
type lab struct {
	t      *testing.T
	server *apiserver.Server
	runner *controllermanager.Runner
	clock  *testClock
	uids   map[string]types.UID // by name, of ConfigMaps
}

func newLab(t *testing.T, controllers ...string) *lab {
	t.Helper()
	l := &lab{t: t, clock: &testClock{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}, uids: map[string]types.UID{}}
	l.server = apiserver.New(apiserver.Options{Clock: l.clock, Guard: true})
	runner, err := controllermanager.Attach(l.server, controllers...)
	if err != nil {
		t.Fatal(err)
	}
	l.runner = runner
	t.Cleanup(runner.Close)
	return l
}

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	nodes      = corev1.SchemeGroupVersion.WithResource("nodes")
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
	namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")
)

func split(name string) (namespace, rest string) {
	if ns, n, found := strings.Cut(name, "/"); found {
		return ns, n
	}
	return "default", name
}

func (l *lab) do(req *apiserver.Request) (*apiserver.Response, error) { return l.server.Do(req) }

func (l *lab) must(req *apiserver.Request) *apiserver.Response {
	l.t.Helper()
	resp, err := l.do(req)
	if err != nil {
		l.t.Fatalf("%s %s %s: %v", req.Verb, req.Resource.Resource, req.Name, err)
	}
	return resp
}

// create makes any object in the namespace that it names.
func (l *lab) create(gvr schema.GroupVersionResource, o apiserver.Object) apiserver.Object {
	l.t.Helper()
	return l.must(&apiserver.Request{Verb: apiserver.Create, Resource: gvr, Namespace: o.GetNamespace(), Object: o}).Object
}

// configMap makes a ConfigMap that is owned by others: "a", or "!a" if it blocks the
// deletion of a.
func (l *lab) configMap(name string, owners ...string) {
	l.t.Helper()
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = split(name)
	for _, owner := range owners {
		owner, blocking := strings.CutPrefix(owner, "!")
		_, n := split(owner)
		cm.OwnerReferences = append(cm.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: n, UID: l.uid(owner), BlockOwnerDeletion: &blocking,
		})
	}
	l.uids[name] = l.create(configMaps, cm).GetUID()
}

// uid is that of a ConfigMap, or one that nothing has.
func (l *lab) uid(name string) types.UID {
	if uid, ok := l.uids[name]; ok {
		return uid
	}
	return types.UID("no-uid-of-" + strings.ReplaceAll(name, "/", "-"))
}

// delete deletes a ConfigMap.
func (l *lab) delete(name string, policy metav1.DeletionPropagation) {
	l.t.Helper()
	ns, n := split(name)
	l.must(&apiserver.Request{
		Verb: apiserver.Delete, Resource: configMaps, Namespace: ns, Name: n,
		DeleteOptions: &metav1.DeleteOptions{PropagationPolicy: &policy},
	})
}

// patch merges JSON into a ConfigMap.
func (l *lab) patch(name, body string) {
	l.t.Helper()
	ns, n := split(name)
	l.must(&apiserver.Request{Verb: apiserver.Patch, Resource: configMaps, Namespace: ns, Name: n, PatchType: types.MergePatchType, Body: []byte(body)})
}

func (l *lab) settle() {
	l.t.Helper()
	if err := l.runner.Settle(); err != nil {
		l.t.Fatal(err)
	}
}

// pass lets time pass and the controllers work.
func (l *lab) pass(d time.Duration) {
	l.t.Helper()
	l.clock.now = l.clock.now.Add(d)
	l.settle()
}

// see compares the ConfigMaps of all namespaces, each with its owners and finalizers:
// "d<a,b", "o+orphan". A deleted one ends in "-".
func (l *lab) see(want ...string) {
	l.t.Helper()
	var got []string
	for _, o := range l.must(&apiserver.Request{Verb: apiserver.List, Resource: configMaps}).Items {
		text := o.GetName()
		if o.GetNamespace() != "default" {
			text = o.GetNamespace() + "/" + text
		}
		var owners []string
		for _, ref := range o.GetOwnerReferences() {
			owners = append(owners, ref.Name)
		}
		if owners != nil {
			text += "<" + strings.Join(owners, ",")
		}
		for _, f := range o.GetFinalizers() {
			text += "+" + f
		}
		if o.GetDeletionTimestamp() != nil {
			text += "-"
		}
		got = append(got, text)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("config maps (-want +got):\n%s", diff)
	}
}

func (l *lab) namespace(name string) *corev1.Namespace {
	l.t.Helper()
	resp, err := l.do(&apiserver.Request{Verb: apiserver.Get, Resource: namespaces, Name: name})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return resp.Object.(*corev1.Namespace)
}

// conditions are those of a namespace that are true, with their messages.
func (l *lab) conditions(name string) []string {
	l.t.Helper()
	var out []string
	for _, c := range l.namespace(name).Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			out = append(out, fmt.Sprintf("%s %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	return out
}
