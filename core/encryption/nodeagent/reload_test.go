package nodeagent_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/nodeagent"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

const live = "/etc/kubernetes/seedbed/encryption/live/config.json"

// mode changes how revisions reach API servers.
func (h *house) mode(m v1alpha1.RolloutMode) {
	h.Helper()
	policy := &v1alpha1.EncryptionPolicy{}
	must(h, h.client.Get(h.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	policy.Spec.Rollout.Mode = m
	must(h, h.client.Update(h.Context(), policy))
}

// plugins are the Pods of plugins on a node.
func (n *node) plugins() string {
	var names []string
	for name := range n.disk.files {
		if rest, ok := strings.CutPrefix(name, "/etc/kubernetes/manifests/seedbed-kms-plugin-"); ok {
			names = append(names, strings.TrimSuffix(rest, ".yaml"))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestReload: plugins are well before the file changes, the API server is restarted
// once and never again, and plugins stay for a while when they are needed no more.
func TestReload(t *testing.T) {
	h := build(t, v1alpha1.AutomaticReload, "a", "b")
	a := h.nodes[0]
	h.cut(1, 0, 7)
	h.pass(10)
	if got := a.plugins(); got != "7" || a.disk.files[live] != "" {
		t.Errorf("before the plugin is well: plugins %s, file %q", got, a.disk.files[live])
	}
	a.up, h.nodes[1].up = true, true
	h.pass(1)
	if h.pod(h.nodes[1]).Spec.Volumes != nil {
		t.Error("both API servers are restarted at once")
	}
	h.pass(20)
	want := "kube-apiserver --etcd-servers=https://127.0.0.1:2379 --encryption-provider-config=" + live + " --encryption-provider-config-automatic-reload=true"
	for _, n := range h.nodes {
		if got := strings.Join(h.pod(n).Spec.Containers[0].Command, " "); got != want {
			t.Errorf("the command on node %s is %s", n.name, got)
		}
		n.loaded = config.FileHash([]byte(n.disk.files[live]))
	}
	server, first := a.disk.files[manifest], a.disk.files[live]
	plugin := a.disk.files["/etc/kubernetes/manifests/seedbed-kms-plugin-7.yaml"]

	a.up = false // the new plugin is not
	h.cut(2, 0, 7, 8)
	h.pass(5)
	if a.disk.files[live] != first {
		t.Error("the file has changed before the plugin is well")
	}
	a.up = true
	h.pass(5)
	if a.disk.files[live] == first || a.disk.files[manifest] != server || a.disk.files["/etc/kubernetes/manifests/seedbed-kms-plugin-7.yaml"] != plugin {
		t.Error("the file has not changed, or the API server or the other plugin is restarted")
	}
	h.cut(3, 3, 8)
	h.pass(100) // nobody has loaded it
	if got := a.plugins(); got != "7 8" {
		t.Errorf("before it is loaded, plugins are %s", got)
	}
	a.loaded = config.FileHash([]byte(a.disk.files[live]))
	h.pass(int(nodeagent.PluginGrace.Seconds())/10 - 5)
	if got := a.plugins(); got != "7 8" {
		t.Errorf("for a while, plugins are %s", got)
	}
	h.pass(10)
	if got := a.plugins(); got != "8" {
		t.Errorf("in the end, plugins are %s", got)
	}
	for name := range a.disk.files {
		if strings.Contains(name, "kms-plugin-7") {
			t.Errorf("%s is left", name)
		}
	}
}

// TestFromOneModeToTheOther: by one restart of each API server.
func TestFromOneModeToTheOther(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a")
	a := h.nodes[0]
	a.up = true
	h.cut(1, 0, 7)
	h.pass(10)
	h.mode(v1alpha1.AutomaticReload)
	h.pass(10)
	p := h.pod(a)
	if len(p.Spec.InitContainers) > 0 || p.Labels[nodeagent.RevisionLabel] != "" || a.plugins() != "7" {
		t.Errorf("reload: %d plugins in the API server's Pod, revision %q, Pods of plugins %s", len(p.Spec.InitContainers), p.Labels[nodeagent.RevisionLabel], a.plugins())
	}
	h.mode(v1alpha1.StaticPodRevision)
	h.pass(10)
	p = h.pod(a)
	if len(p.Spec.InitContainers) != 1 || a.plugins() != "" || p.Labels[nodeagent.RevisionLabel] != "1" || slices.Contains(p.Spec.Containers[0].Command, "--encryption-provider-config-automatic-reload=true") {
		t.Errorf("revisions: %d plugins in the API server's Pod, revision %q, command %q", len(p.Spec.InitContainers), p.Labels[nodeagent.RevisionLabel], p.Spec.Containers[0].Command)
	}
}
