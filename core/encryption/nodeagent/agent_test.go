package nodeagent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/nodeagent"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/secret"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
)

const (
	configs  = "seedbed-encryption"
	manifest = nodeagent.DefaultManifest
)

// disk is one whose process ends before the operation of that number, if that is not
// zero; what was not synced by then is cut in half.
type disk struct {
	files, durable map[string]string
	operations     int
	ends           int
}

var errEnded = errors.New("the process has ended")

func newDisk() *disk { return &disk{files: map[string]string{}, durable: map[string]string{}} }

func (d *disk) operate() error {
	d.operations++
	if d.ends > 0 && d.operations >= d.ends {
		return errEnded
	}
	return nil
}

// crash loses what was not synced.
func (d *disk) crash() {
	for name, text := range d.files {
		if d.durable[name] != text {
			d.files[name] = text[:len(text)/2]
		}
	}
	d.ends = 0
}

func (d *disk) ReadFile(_ context.Context, name string) ([]byte, error) {
	text, ok := d.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (d *disk) WriteFile(_ context.Context, name string, data []byte) error {
	if err := d.operate(); err != nil {
		return err
	}
	d.files[name] = string(data)
	return nil
}

func (d *disk) Sync(_ context.Context, name string) error {
	if err := d.operate(); err != nil {
		return err
	}
	d.durable[name] = d.files[name]
	return nil
}

func (d *disk) Rename(_ context.Context, from, to string) error {
	if err := d.operate(); err != nil {
		return err
	}
	d.files[to], d.durable[to] = d.files[from], d.durable[from]
	delete(d.files, from)
	return nil
}

func (d *disk) Remove(_ context.Context, name string) error {
	if err := d.operate(); err != nil {
		return err
	}
	if _, ok := d.files[name]; !ok {
		return fs.ErrNotExist
	}
	delete(d.files, name)
	return nil
}

func (d *disk) SyncDir(context.Context, string) error { return d.operate() }

type fixedClock struct {
	clock.Clock
	now time.Time
}

func (c *fixedClock) Now() time.Time                  { return c.now }
func (c *fixedClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// node has a disk, a kubelet and an agent.
type node struct {
	name   string
	disk   *disk
	agent  *nodeagent.Agent
	broken int64 // a revision with which its API server does not become ready

	gate   string // the image
	up     bool   // the plugins are
	dead   bool   // a plugin that the API server has is: it is ready if nobody asks for it
	loaded string
}

// house is a control plane.
type house struct {
	*testing.T
	client client.Client
	clock  *fixedClock
	nodes  []*node
	names  []string
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// definitions keeps what the CustomResourceDefinitions compile to, for all houses.
var definitions crd.Cache

func build(t *testing.T, mode v1alpha1.RolloutMode, names ...string) *house {
	t.Helper()
	server := apiserver.New(apiserver.Options{Definitions: &definitions})
	scheme := runtime.NewScheme()
	must(t, errors.Join(server.LoadCRDs(os.DirFS("../v1alpha1"), "crds"), clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	h := &house{T: t, client: apiclient.New(server, scheme, apiclient.WithoutManagedFields()), clock: &fixedClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, names: names}
	must(t, h.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: configs}}))
	must(t, h.client.Create(t.Context(), &v1alpha1.EncryptionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Spec: v1alpha1.EncryptionPolicySpec{Rollout: v1alpha1.Rollout{Mode: mode}},
	}))
	for _, name := range names {
		n := &node{name: name, disk: newDisk()}
		n.disk.files[manifest] = `apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver, namespace: kube-system, labels: {component: kube-apiserver}}
spec:
  containers:
  - name: kube-apiserver
    image: i
    command: [kube-apiserver, --etcd-servers=https://127.0.0.1:2379]
    readinessProbe: {httpGet: {path: /readyz, port: 6443}}
    livenessProbe: {httpGet: {path: /livez, port: 6443}}
`
		n.disk.durable[manifest] = n.disk.files[manifest]
		h.start(n)
		h.nodes = append(h.nodes, n)
	}
	return h
}

// start starts the agent of a node.
func (h *house) start(n *node) {
	n.agent = nodeagent.New(nodeagent.Config{
		Node: n.name, Live: h.client, Files: n.disk, Clock: h.clock, ConfigNamespace: configs,
		PodNamespace: "kube-system", Selector: labels.SelectorFromSet(labels.Set{"component": "kube-apiserver"}),
		Nodes:     func(context.Context) ([]string, error) { return h.names, nil },
		PluginsUp: func(context.Context, []uint64) (bool, error) { return n.up, nil },
		Loaded:    func(context.Context) (string, error) { return n.loaded, nil },
		GateImage: n.gate,
	})
}

// cut makes a revision with those KMS keys the latest, and the given one the first
// that is safe.
func (h *house) cut(revision, safe int64, ids ...uint64) {
	h.Helper()
	read := []state.Key{{ID: 1000 + uint64(revision), Mode: state.AESCBC, Material: secret.New(make([]byte, state.MaterialSize))}}
	for _, id := range ids {
		provider, err := config.KMSProvider(apiserverv1.KMSConfiguration{APIVersion: "v2"})
		must(h, err)
		read = append(read, state.Key{ID: id, Mode: state.KMS, Material: state.NoMaterial(), KMS: &state.KMSData{
			Provider: provider, Plugin: `{"plugin":{"image":"p"},"references":{"secret":{"name":"a","keys":["b"]}}}`,
			Secrets: map[state.Reference]secret.Bytes{{Object: "a", Entry: "b"}: secret.New([]byte("hush"))},
		}})
	}
	name := client.ObjectKey{Namespace: configs, Name: config.RevisionName(revision)}
	s, err := config.Encode(state.State{{GroupResource: schema.GroupResource{Resource: "secrets"}, Read: read}}, name)
	must(h, err)
	must(h, h.client.Create(h.Context(), s))
	policy := &v1alpha1.EncryptionPolicy{}
	must(h, h.client.Get(h.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	policy.Status.LatestRevision, policy.Status.MinSafeRevision = revision, safe
	must(h, h.client.Status().Update(h.Context(), policy))
}

// remove removes a Secret, finalizers or not.
func (h *house) remove(s *corev1.Secret) {
	h.Helper()
	s.Finalizers = nil
	must(h, h.client.Update(h.Context(), s))
	must(h, client.IgnoreNotFound(h.client.Delete(h.Context(), s)))
}

// safeFrom makes a revision the first that is safe.
func (h *house) safeFrom(revision int64) {
	h.Helper()
	policy := &v1alpha1.EncryptionPolicy{}
	must(h, h.client.Get(h.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	policy.Status.LatestRevision, policy.Status.MinSafeRevision = 0, revision
	must(h, h.client.Status().Update(h.Context(), policy))
}

// pod is the manifest on a node.
func (h *house) pod(n *node) *corev1.Pod {
	h.Helper()
	p := &corev1.Pod{}
	must(h, yaml.Unmarshal([]byte(n.disk.files[manifest]), p))
	return p
}

// kubelet runs the Pod of the manifest, and shows it.
func (h *house) kubelet(n *node) {
	h.Helper()
	p := h.pod(n)
	p.Name, p.Spec.NodeName = p.Name+"-"+n.name, n.name
	ready := corev1.ConditionTrue
	if n.broken > 0 && p.Labels[nodeagent.RevisionLabel] == fmt.Sprint(n.broken) {
		ready = corev1.ConditionFalse
	}
	if probe := p.Spec.Containers[0].ReadinessProbe; n.dead && probe.HTTPGet.Path != "/readyz?exclude=kms-providers" {
		ready = corev1.ConditionFalse
	}
	there := &corev1.Pod{}
	err := h.client.Get(h.Context(), client.ObjectKeyFromObject(p), there)
	if err == nil && slices.Equal(there.Spec.Containers[0].Command, p.Spec.Containers[0].Command) && there.Status.Conditions[0].Status == ready {
		return
	}
	if err == nil {
		must(h, h.client.Delete(h.Context(), there, client.GracePeriodSeconds(0)))
	}
	must(h, h.client.Create(h.Context(), p))
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
		Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(h.clock.now),
	}}}
	must(h, h.client.Status().Update(h.Context(), p))
}

// pass lets ten seconds pass, in which all agents and kubelets run.
func (h *house) pass(times int) {
	h.Helper()
	for range times {
		for _, n := range h.nodes {
			must(h, h.sync(n))
			h.kubelet(n)
		}
		h.clock.now = h.clock.now.Add(10 * time.Second)
	}
}

func (h *house) sync(n *node) error {
	_, err := n.agent.Reconcile(h.Context(), reconcile.Request{})
	return err
}

// revisions are those of the manifests.
func (h *house) revisions() string {
	var out []string
	for _, n := range h.nodes {
		out = append(out, n.name+h.pod(n).Labels[nodeagent.RevisionLabel])
	}
	return strings.Join(out, " ")
}

// TestOneAfterTheOther: each node restarts its API server when that of the one before
// has been ready for a while.
func TestOneAfterTheOther(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a", "b", "c")
	h.cut(1, 0)
	var seen []string
	for range 30 {
		h.pass(1)
		if r := h.revisions(); len(seen) == 0 || seen[len(seen)-1] != r {
			seen = append(seen, r)
		}
	}
	if got, want := strings.Join(seen, ", "), "a1 b c, a1 b1 c, a1 b1 c1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p := h.pod(h.nodes[0])
	if got, want := strings.Join(p.Spec.Containers[0].Command, " "), "kube-apiserver --etcd-servers=https://127.0.0.1:2379 --encryption-provider-config=/etc/kubernetes/seedbed/encryption/rev-1/config.json"; got != want {
		t.Errorf("the command is %s", got)
	}
	n := &v1alpha1.EncryptionNodeState{}
	must(t, h.client.Get(t.Context(), client.ObjectKey{Name: "c"}, n))
	want := config.FileHash([]byte(h.nodes[2].disk.files["/etc/kubernetes/seedbed/encryption/rev-1/config.json"]))
	if n.Status.RunningRevision != 1 || n.Status.FileHash != want {
		t.Errorf("node c reports revision %d, file %s; want %s", n.Status.RunningRevision, n.Status.FileHash, want)
	}
	quiet := maps.Clone(h.nodes[1].disk.files)
	writes := h.nodes[1].disk.operations
	h.pass(20)
	if !maps.Equal(quiet, h.nodes[1].disk.files) || writes != h.nodes[1].disk.operations {
		t.Error("files are written though nothing has changed")
	}
}

// TestPlugins come with the revision that needs them, and go with one that does not.
func TestPlugins(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a")
	containers := func() string {
		var names []string
		for _, c := range h.pod(h.nodes[0]).Spec.InitContainers {
			names = append(names, c.Name)
		}
		return strings.Join(names, " ")
	}
	h.cut(1, 0, 7, 8)
	h.pass(5)
	if got := containers(); got != "kms-plugin-8 kms-plugin-7" {
		t.Errorf("plugins are %s", got)
	}
	if got := h.nodes[0].disk.files["/etc/kubernetes/seedbed/encryption/rev-1/kms-plugin-8/secrets/a/b"]; got != "hush" {
		t.Errorf("the file is %q", got)
	}
	h.cut(2, 2)
	h.pass(10)
	if got := containers(); got != "" {
		t.Errorf("plugins are %s", got)
	}
	for name, text := range h.nodes[0].disk.files {
		if strings.Contains(name, "rev-1") || strings.Contains(text, "hush") {
			t.Errorf("%s of a revision that is not safe is still there", name)
		}
	}
}

// TestANodeThatDoesNotComeBack holds up the others, which keep what they run, until
// a later revision repairs it.
func TestANodeThatDoesNotComeBack(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a", "b", "c")
	h.cut(1, 0)
	h.pass(30)
	h.nodes[0].broken = 2
	h.cut(2, 0)
	h.pass(60)
	if got := h.revisions(); got != "a2 b1 c1" {
		t.Errorf("got %s", got)
	}
	h.cut(3, 0)
	h.pass(30)
	if got := h.revisions(); got != "a3 b3 c3" {
		t.Errorf("repaired: %s", got)
	}
	h.nodes[1].broken = 4
	h.cut(4, 0)
	h.pass(60)
	h.nodes, h.names = slices.Delete(h.nodes, 1, 2), []string{"a", "c"} // b is gone for good
	h.pass(30)
	if got := h.revisions(); got != "a4 c4" {
		t.Errorf("without the broken node: %s", got)
	}
}

// TestADiskOfBefore: a node that runs what is not safe goes to the latest at once,
// whosever turn it is.
func TestADiskOfBefore(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a", "b")
	h.cut(1, 0)
	h.pass(30)
	old := maps.Clone(h.nodes[1].disk.files)
	h.cut(2, 0)
	h.pass(30)
	h.cut(3, 2)
	h.nodes[0].broken = 3
	h.pass(5) // a has the turn, and keeps it
	h.nodes[1].disk.files, h.nodes[1].disk.durable = maps.Clone(old), maps.Clone(old)
	h.start(h.nodes[1])
	h.pass(2)
	if got := h.revisions(); got != "a3 b3" {
		t.Errorf("got %s", got)
	}
}

// TestWhatAnAgentRefuses.
func TestWhatAnAgentRefuses(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a")
	h.cut(5, 0)
	h.pass(10)
	policy := &v1alpha1.EncryptionPolicy{}
	must(t, h.client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy))
	policy.Status.LatestRevision = 4 // from a backup
	must(t, h.client.Status().Update(t.Context(), policy))
	if err := h.sync(h.nodes[0]); !errors.Is(err, nodeagent.ErrBackward) {
		t.Errorf("a revision of before: error %v", err)
	}
	policy.Status.LatestRevision, policy.Status.MinSafeRevision = 6, 7
	must(t, h.client.Status().Update(t.Context(), policy))
	if err := h.sync(h.nodes[0]); !errors.Is(err, nodeagent.ErrUnsafe) {
		t.Errorf("a revision that is not safe: error %v", err)
	}
	policy.Status.LatestRevision = 8
	must(t, h.client.Status().Update(t.Context(), policy))
	must(t, h.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: configs, Name: config.RevisionName(8)}}))
	if err := h.sync(h.nodes[0]); err == nil || !strings.Contains(err.Error(), "holds no configuration") {
		t.Errorf("a revision without a configuration: error %v", err)
	}
	if got := h.revisions(); got != "a5" {
		t.Errorf("it runs %s", got)
	}
}

// TestAnAgentDies before each of its writes in turn: what the manifest names is always
// there as a whole, and the next agent goes on.
func TestAnAgentDies(t *testing.T) {
	for ends := 1; ; ends++ {
		h := build(t, v1alpha1.StaticPodRevision, "a")
		n := h.nodes[0]
		h.cut(1, 0, 7)
		h.pass(5)
		h.cut(2, 2, 7, 8)
		n.disk.operations, n.disk.ends = 0, ends
		var died bool
		for range 10 {
			if err := h.sync(n); err != nil && !errors.Is(err, errEnded) {
				t.Fatal(err)
			} else if err != nil {
				died = true
				break
			}
			h.kubelet(n)
			h.clock.now = h.clock.now.Add(10 * time.Second)
		}
		if !died {
			if ends < 20 {
				t.Errorf("there were only %d writes", ends)
			}
			return
		}
		n.disk.crash()
		revision := h.pod(n).Labels[nodeagent.RevisionLabel]
		for _, file := range []string{"config.json", "kms-plugin-7/secrets/a/b"} {
			text := n.disk.files[path.Join(nodeagent.DefaultDir, "rev-"+revision, file)]
			if text != "hush" && !strings.HasSuffix(text, "]}") {
				t.Errorf("dead before write %d, %s of revision %s is %q", ends, file, revision, text)
			}
		}
		h.start(n)
		h.pass(10)
		if got := h.revisions(); got != "a2" {
			t.Errorf("dead before write %d, it ends with %s", ends, got)
		}
		for name, text := range n.disk.files {
			if strings.Contains(name, "rev-1/") && text != "" {
				t.Errorf("dead before write %d, %s is left", ends, name)
			}
		}
	}
}

// TestAClockIsSetBack: that of the machine, between the API server and the agent.
func TestAClockIsSetBack(t *testing.T) {
	h := build(t, v1alpha1.StaticPodRevision, "a", "b")
	h.cut(1, 0)
	h.pass(2)
	h.clock.now = h.clock.now.Add(-8 * 24 * time.Hour)
	h.pass(20)
	if got := h.revisions(); got != "a1 b1" {
		t.Errorf("revisions are %s", got)
	}
}
