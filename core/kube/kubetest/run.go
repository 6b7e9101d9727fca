package kubetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// Run runs each case as a subtest, in a namespace of its own whose name begins with
// prefix. Kube may do everything; ended returns a context that has ended.
func Run(t *testing.T, prefix string, k kube.Kube, ended func() context.Context) {
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := &env{T: t, Kube: k, ctx: t.Context(), ended: ended(), ns: fmt.Sprintf("%s-%d", prefix, i)}
			e.must(k.Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.ns}}))
			c.run(e)
		})
	}
}

type testCase struct {
	name string
	run  func(e *env)
}

// env is what a case works with.
type env struct {
	*testing.T
	kube.Kube
	ctx, ended context.Context
	ns         string
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// want checks that err is of a kind, as a function of apierrors knows it.
func (e *env) want(what string, is func(error) bool, err error) {
	e.Helper()
	if !is(err) {
		e.Errorf("%s: unexpected error %v", what, err)
	}
}

func (e *env) same(what string, want, got any) {
	e.Helper()
	if d := cmp.Diff(want, got); d != "" {
		e.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// secret returns one that is not stored.
func (e *env) secret(name, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: name, Labels: map[string]string{"of": name}},
		Data:       map[string][]byte{"v": []byte(value)},
	}
}

// created stores one.
func (e *env) created(name, value string) *corev1.Secret {
	e.Helper()
	s := e.secret(name, value)
	e.must(e.Create(e.ctx, s))
	return s
}

// read returns the one that is called a, as it is stored.
func (e *env) read() *corev1.Secret {
	e.Helper()
	s := &corev1.Secret{}
	e.must(e.Get(e.ctx, client.ObjectKey{Namespace: e.ns, Name: "a"}, s))
	return s
}

// listed returns the names of those in the namespace, and where the list goes on.
func (e *env) listed(opts ...client.ListOption) (names []string, next string) {
	e.Helper()
	list := &corev1.SecretList{}
	e.must(e.List(e.ctx, list, append(opts, client.InNamespace(e.ns))...))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, list.Continue
}
