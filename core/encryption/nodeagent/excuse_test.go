package nodeagent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/nodeagent"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// giveUp gives keys up, and takes others back.
func (h *house) giveUp(ids ...int64) {
	h.Helper()
	policy := &v1alpha1.EncryptionPolicy{}
	must(h, h.client.Get(h.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	policy.Status.GivenUpKeys = ids
	must(h, h.client.Status().Update(h.Context(), policy))
}

// probes are the paths that kubelets ask for.
func (h *house) probes() string {
	var out []string
	for _, n := range h.nodes {
		c := h.pod(n).Spec.Containers[0]
		out = append(out, strings.TrimPrefix(c.ReadinessProbe.HTTPGet.Path, "/readyz")+c.LivenessProbe.HTTPGet.Path)
	}
	return strings.Join(out, " ")
}

// TestAPluginThatIsGivenUp: API servers that have it are ready without it, one after the
// other, if the plugins of the other keys are well; and with it again when it is back.
func TestAPluginThatIsGivenUp(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a", "b")
	a, b := h.nodes[0], h.nodes[1]
	a.dead, b.dead = true, true
	h.cut(1, 0, 7, 8)
	h.pass(20)
	if got := h.revisions() + h.probes(); got != "a1 b/livez /livez" {
		t.Errorf("with a dead plugin there are %s", got)
	}
	h.giveUp(7)
	h.pass(20)
	if got := h.revisions() + h.probes(); got != "a1 b?exclude=kms-providers/livez /livez" {
		t.Errorf("as another plugin is not well there are %s", got)
	}
	a.up, b.up = true, true
	h.pass(20)
	const excused = "?exclude=kms-providers/livez"
	if got := h.revisions() + h.probes(); got != "a1 b1"+excused+" "+excused {
		t.Errorf("without the dead plugin there are %s", got)
	}
	a.dead, b.dead = false, false
	h.giveUp()
	h.pass(1)
	if got := h.probes(); got != "/livez "+excused {
		t.Errorf("both API servers are restarted at once: %s", got)
	}
	h.pass(20)
	if got := h.probes(); got != "/livez /livez" {
		t.Errorf("when the plugin is back there are %s", got)
	}
}

// TestAPluginThatIsGivenUpByReload: API servers take over no configuration with a dead
// plugin, but at their start.
func TestAPluginThatIsGivenUpByReload(t *testing.T) {
	h := build(t, v1alpha1.AutomaticReload, "a", "b")
	a, b := h.nodes[0], h.nodes[1]
	a.up, b.up = true, true
	h.cut(1, 0, 7)
	h.pass(20)
	a.dead, b.dead = true, true
	h.giveUp(7)
	h.cut(2, 0, 7)
	h.pass(20)
	hash := func(n *node) string { return config.FileHash([]byte(n.disk.files[live])) }
	loads := func(n *node) string { return h.pod(n).Annotations[nodeagent.LoadsAnnotation] }
	if loads(a) != hash(a) || loads(b) != "" {
		t.Errorf("a is restarted for %q, b for %q, before a has loaded %s", loads(a), loads(b), hash(a))
	}
	a.loaded = hash(a)
	h.pass(20)
	if loads(b) != hash(b) || hash(b) != hash(a) {
		t.Errorf("b is restarted for %q, and is to load %s", loads(b), hash(a))
	}
	b.loaded = hash(b)
	a.dead, b.dead = false, false
	h.cut(3, 0)
	h.pass(20)
	if got := h.probes(); loads(a) != "" || loads(b) != "" || got != "/livez /livez" {
		t.Errorf("without the key, a is restarted for %q, b for %q, and kubelets ask for %s", loads(a), loads(b), got)
	}
}

// TestARevisionThatNodesMake: its Secret is made of what is on the disk of the first node
// by that node, when it runs; others follow.
func TestARevisionThatNodesMake(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a", "b")
	a, b := h.nodes[0], h.nodes[1]
	a.up, b.up = true, true
	h.cut(1, 0, 7)
	h.pass(30)
	of := &corev1.Secret{}
	must(t, h.client.Get(t.Context(), client.ObjectKey{Namespace: configs, Name: config.RevisionName(1)}, of))
	h.remove(of) // as if nobody could read it
	policy := &v1alpha1.EncryptionPolicy{}
	must(t, h.client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	policy.Status.LatestRevision, policy.Status.GivenUpKeys = 2, []int64{7}
	policy.Status.Fallback = &v1alpha1.Fallback{Revision: 2, Of: 1, WithoutKeys: []int64{7}}
	must(t, h.client.Status().Update(t.Context(), policy))
	h.pass(30)
	if got := h.revisions(); got != "a2 b2" {
		t.Errorf("revisions are %s", got)
	}
	made := &corev1.Secret{}
	must(t, h.client.Get(t.Context(), client.ObjectKey{Namespace: configs, Name: config.RevisionName(2)}, made))
	if d := cmp.Diff(made.Data, of.Data); d != "" { // nothing was written with the key
		t.Errorf("(-made +of):\n%s", d)
	}
}
