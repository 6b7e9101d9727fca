package deployer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/core/secret"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

const configs = "seedbed-encryption"

// pod is an API server on a node of its name.
func pod(node, revision string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-apiserver-" + node, Labels: map[string]string{"component": "kube-apiserver"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "kube-apiserver", Image: "i"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if revision != "none" {
		p.Labels[deployer.RevisionLabel] = revision
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Name, p.Status.Phase = p.Name+"-"+strings.ToLower(string(phase)), phase }
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func deleting(p *corev1.Pod) { p.Finalizers = []string{"example.com/drain"} }

func another(p *corev1.Pod) { p.Name += "-2" }

// api is an API server with configurations of revisions 3 and 4.
func api(t *testing.T, pods []*corev1.Pod) client.Client {
	t.Helper()
	c := apiclient.New(apiserver.New(apiserver.Options{}), clientscheme.Scheme)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: configs}}))
	for _, name := range []string{config.RevisionName(3), config.RevisionName(4), config.Name("apiserver"), "other"} {
		must(c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: configs, Name: name}}))
	}
	for _, p := range pods {
		status := p.Status
		must(c.Create(t.Context(), p))
		p.Status = status
		must(c.Status().Update(t.Context(), p))
		if len(p.Finalizers) > 0 {
			must(c.Delete(t.Context(), p))
		}
	}
	return c
}

func TestStaticPods(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes string
		pods  []*corev1.Pod
		want  string // the Secret, or "differ", "nothing" or an error
	}{
		{"all the same", "a b", []*corev1.Pod{pod("a", "3"), pod("b", "3")}, "encryption-config-3"},
		{"a revision that was deleted", "a", []*corev1.Pod{pod("a", "7")}, "get Secret seedbed-encryption/encryption-config-7: the configuration that API servers run is gone"},
		{"before all revisions", "a", []*corev1.Pod{pod("a", "none")}, "nothing"},
		{"no nodes", "", []*corev1.Pod{pod("a", "3")}, "differ"},
		{"no pods", "a", nil, "differ"},
		{"two revisions", "a b", []*corev1.Pod{pod("a", "3"), pod("b", "4")}, "differ"},
		{"none is not zero", "a b", []*corev1.Pod{pod("a", "none"), pod("b", "0")}, "differ"},
		{"one is not ready", "a b", []*corev1.Pod{pod("a", "3"), pod("b", "3", unready)}, "differ"},
		{"one is pending", "a b", []*corev1.Pod{pod("a", "3"), pod("b", "3", phase(corev1.PodPending))}, "differ"},
		{"a node without", "a b", []*corev1.Pod{pod("a", "3")}, "differ"},
		{"a pod on a node that is not known", "a", []*corev1.Pod{pod("a", "3"), pod("b", "3")}, "encryption-config-3"},
		{"and of another revision", "a", []*corev1.Pod{pod("a", "3"), pod("b", "4")}, "differ"},
		{"one drains", "a b", []*corev1.Pod{pod("a", "3"), pod("b", "3"), pod("b", "3", another, deleting)}, "differ"},
		{"two on a node", "a", []*corev1.Pod{pod("a", "3"), pod("a", "3", another)}, "differ"},
		{"one of old has failed", "a", []*corev1.Pod{pod("a", "4"), pod("a", "3", phase(corev1.PodFailed))}, "encryption-config-4"},
		{"one of before has failed", "a", []*corev1.Pod{pod("a", "4"), pod("a", "none", phase(corev1.PodFailed))}, "encryption-config-4"},
		{"a newer one has failed", "a", []*corev1.Pod{pod("a", "3"), pod("a", "4", phase(corev1.PodFailed))},
			"pod kube-system/kube-apiserver-a-failed, of revision 4: a pod of a newer revision has ended; remove it, or repair what it ended of"},
		{"an unknown phase", "a", []*corev1.Pod{pod("a", "3"), pod("b", "3", phase(corev1.PodUnknown))},
			`pod kube-system/kube-apiserver-b-unknown: the pod is in an unknown phase, "Unknown"`},
		{"no number", "a", []*corev1.Pod{pod("a", "three")}, `the label encryption.seedbed.dev/revision is no number: "three"`},
	} {
		s := &deployer.StaticPods{
			Live: api(t, c.pods), Namespace: "kube-system", Selector: labels.SelectorFromSet(labels.Set{"component": "kube-apiserver"}),
			ConfigNamespace: configs, Nodes: func(context.Context) ([]string, error) { return strings.Fields(c.nodes), nil },
		}
		if got := answer(s.DeployedEncryptionConfigSecret(t.Context())); got != c.want {
			t.Errorf("%s:\n  got  %s\n  want %s", c.name, got, c.want)
		}
		secrets, err := s.StartableConfigSecrets(t.Context())
		if err != nil || len(secrets) != 2 {
			t.Errorf("%d configurations of revisions, error %v", len(secrets), err)
		}
	}
}

func answer(s *corev1.Secret, converged bool, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case !converged:
		return "differ"
	case s == nil:
		return "nothing"
	default:
		return s.Name
	}
}

// fixed is a deployer with one answer.
type fixed struct {
	secret *corev1.Secret
	differ bool
	err    error
}

func (f fixed) DeployedEncryptionConfigSecret(context.Context) (*corev1.Secret, bool, error) {
	return f.secret, !f.differ, f.err
}
func (f fixed) StartableConfigSecrets(context.Context) ([]*corev1.Secret, error) {
	return []*corev1.Secret{f.secret}, f.err
}
func (f fixed) Watches() []kube.Watch { return make([]kube.Watch, 1) }

func TestUnion(t *testing.T) {
	stored := func(name string, id uint64) *corev1.Secret {
		k := state.Key{ID: id, Mode: state.AESGCM, Material: secret.New([]byte(strings.Repeat("k", state.MaterialSize)))}
		s, err := config.Encode(state.State{{GroupResource: schema.GroupResource{Resource: "secrets"}, Write: &k, Read: []state.Key{k}}}, client.ObjectKey{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, same, two := stored("one", 1), stored("same", 1), stored("two", 2)
	for _, c := range []struct {
		name  string
		union deployer.Union
		want  string
	}{
		{"nobody", nil, "differ"},
		{"one", deployer.Union{fixed{secret: one}}, "one"},
		{"two that agree", deployer.Union{fixed{secret: one}, fixed{secret: same}}, "one"},
		{"two that do not", deployer.Union{fixed{secret: one}, fixed{secret: two}}, "differ"},
		{"one differs in itself", deployer.Union{fixed{secret: one}, fixed{secret: one, differ: true}}, "differ"},
		{"all without", deployer.Union{fixed{}, fixed{}}, "nothing"},
		{"one without", deployer.Union{fixed{}, fixed{secret: one}}, "differ"},
		{"an error", deployer.Union{fixed{secret: one}, fixed{err: errors.New("oh")}}, "component 1: oh"},
	} {
		if got := answer(c.union.DeployedEncryptionConfigSecret(t.Context())); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	both := deployer.Union{fixed{secret: one}, fixed{secret: two}}
	if all, err := both.StartableConfigSecrets(t.Context()); err != nil || len(all) != 2 || len(both.Watches()) != 2 {
		t.Errorf("%d configurations, %d watches, error %v", len(all), len(both.Watches()), err)
	}
}
