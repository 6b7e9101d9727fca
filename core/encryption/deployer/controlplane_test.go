package deployer_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
)

func (c *fixedClock) Now() time.Time { return c.now }

// TestControlPlane: a node counts by its label, and for a while by the API server that
// was seen on it.
func TestControlPlane(t *testing.T) {
	live := api(t, []*corev1.Pod{pod("a", "3"), pod("stray", "3")})
	for _, name := range []string{"a", "b", "worker"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name != "worker" {
			n.Labels = map[string]string{deployer.ControlPlaneLabel: ""}
		}
		if err := live.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	clock := &fixedClock{now: now}
	p := &deployer.ControlPlane{Live: live, Clock: clock, Namespace: "kube-system", Selector: labels.SelectorFromSet(labels.Set{"component": "kube-apiserver"})}
	expect := func(want string) {
		t.Helper()
		got, err := p.Nodes(t.Context())
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("nodes %q, error %v; want %s", got, err, want)
		}
	}
	expect("a b stray")
	if err := live.Delete(t.Context(), pod("stray", "3"), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	clock.now = clock.now.Add(deployer.SeenFor)
	expect("a b stray")
	clock.now = clock.now.Add(time.Second)
	expect("a b")
}
