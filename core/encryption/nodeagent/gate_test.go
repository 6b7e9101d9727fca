package nodeagent_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/nodeagent"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// sleeper is a clock on which time passes while somebody sleeps.
type sleeper struct {
	clock.Clock
	slept time.Duration
}

func (s *sleeper) Sleep(_ context.Context, d time.Duration) error {
	s.slept += d
	return nil
}

// silent is an API that nobody answers.
type silent struct{ client.Client }

var errRefused = errors.New("connection refused")

func (silent) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errRefused
}

// TestGate: an API server does not start with a revision that is not safe, but for want
// of anybody who could say so.
func TestGate(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a")
	h.cut(7, 5)
	for revision, want := range map[int64]error{4: nodeagent.ErrUnsafe, 5: nil, 7: nil, 0: nodeagent.ErrUnsafe} {
		if err := nodeagent.Gate(t.Context(), nodeagent.GateConfig{Live: h.client, Clock: &sleeper{}, Revision: revision}); !errors.Is(err, want) {
			t.Errorf("revision %d: %v, want %v", revision, err, want)
		}
	}
	c := &sleeper{}
	if err := nodeagent.Gate(t.Context(), nodeagent.GateConfig{Live: silent{}, Clock: c, Revision: 4}); err != nil || c.slept != nodeagent.GatePatience {
		t.Errorf("with nobody to ask: %v after %s", err, c.slept)
	}
}

// TestTheGateIsInTheManifest: in front of the API server, once, in both ways of rollout.
func TestTheGateIsInTheManifest(t *testing.T) {
	for mode, want := range map[v1alpha1.RolloutMode]string{
		v1alpha1.StaticPodRevision: "--revision=2",
		v1alpha1.AutomaticReload:   "--revision-file=/etc/kubernetes/seedbed/encryption/live/revision",
	} {
		h := build(t, mode, "a")
		a := h.nodes[0]
		a.up, a.gate = true, "gate"
		h.start(a)
		h.cut(1, 0)
		h.pass(10)
		h.cut(2, 0)
		h.pass(10)
		inits := h.pod(a).Spec.InitContainers
		if len(inits) != 1 || inits[0].Name != nodeagent.GateContainer || !slices.Equal(inits[0].Args, []string{want}) {
			t.Errorf("%s: init containers are %v", mode, inits)
		}
		if number := a.disk.files["/etc/kubernetes/seedbed/encryption/live/revision"]; mode == v1alpha1.AutomaticReload && number != "2" {
			t.Errorf("the file of the revision says %q", number)
		}
	}
}

// TestARevisionThatANodeRunsComesBack: the node has all that was in its Secret.
func TestARevisionThatANodeRunsComesBack(t *testing.T) {
	for _, mode := range []v1alpha1.RolloutMode{v1alpha1.StaticPodRevision, v1alpha1.AutomaticReload} {
		h := build(t, mode, "a")
		h.nodes[0].up = true
		h.cut(1, 0, 7)
		h.pass(10)
		h.cut(2, 0, 7, 8)
		h.pass(10)
		name := client.ObjectKey{Namespace: configs, Name: config.RevisionName(2)}
		before := &corev1.Secret{}
		must(t, h.client.Get(t.Context(), name, before))
		h.remove(before)
		h.pass(1)
		after := &corev1.Secret{}
		must(t, h.client.Get(t.Context(), name, after))
		if len(after.Data) == 0 || len(after.Data) != len(before.Data) || after.Immutable == nil || !*after.Immutable {
			t.Errorf("%s: what came back has %d entries, want %d, and is to be immutable", mode, len(after.Data), len(before.Data))
		}
		for entry, data := range before.Data {
			if !slices.Equal(data, after.Data[entry]) {
				t.Errorf("%s: entry %s differs", mode, entry)
			}
		}

		h.safeFrom(3) // what may not be loaded any more stays away
		h.remove(after)
		h.pass(2)
		if err := h.client.Get(t.Context(), name, after); !apierrors.IsNotFound(err) {
			t.Errorf("%s: a revision that is not safe came back: %v", mode, err)
		}
	}
}
