package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Folders and files, unless a [Config] says otherwise.
const (
	DefaultDir       = "/etc/kubernetes/seedbed/encryption"
	DefaultManifest  = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	DefaultSockets   = "/var/run/kmsplugin"
	DefaultContainer = "kube-apiserver"
)

// Periods.
const (
	// Resync is how long an agent to which nothing happens waits before it looks again.
	Resync = time.Minute

	// Poll is the time between looks while something is under way.
	Poll = 10 * time.Second

	// DefaultMinReady is how long an API server must have been ready before the next is
	// restarted.
	DefaultMinReady = 30 * time.Second
)

// Config is what an [Agent] needs. Where there is a constant that begins with Default, empty
// means that one. All others are required but Log, Local and GateImage, and Loaded if no policy asks for
// reload.
type Config struct {
	Node  string
	Live  kube.Kube
	Files Files
	Clock clock.Clock

	// Local writes at the API server of the node itself; nil for whichever Live writes at.
	// While Secrets are to be encrypted with a key whose plugin is dead, the first API
	// server that runs a revision without it is the only one that can write them.
	Local kube.Kube

	// ConfigNamespace is that of the revisions, and of the Lease.
	ConfigNamespace string

	// PodNamespace and Selector are those of the API servers' Pods.
	PodNamespace string
	Selector     labels.Selector

	// Nodes returns the names of the nodes that run an API server, or should.
	Nodes func(ctx context.Context) ([]string, error)

	// PluginsUp reports whether the KMS plugins of keys with those ids are well on the
	// node.
	PluginsUp func(ctx context.Context, keys []uint64) (bool, error)

	// Loaded returns the hash of the configuration that the node's API server says it
	// has loaded, in the form of [config.FileHash]; empty if it has none.
	Loaded func(ctx context.Context) (string, error)

	// Dir is the agent's own folder. Manifest is the file of the API server; Pods of
	// plugins get theirs beside it. Sockets is the folder of the plugins' sockets.
	Dir, Manifest, Sockets string

	// Container is that of the API server in its Pod.
	Container string

	MinReady time.Duration

	// GateImage is that of a container that runs [Gate] before the API server. Without
	// it an API server starts with whatever is on the disk.
	GateImage string

	Log logr.Logger
}

// Agent is that of a node.
type Agent struct {
	cfg Config

	// spare is since when the API server has loaded a configuration, and spareHash which,
	// so that plugins of keys that are not in it may soon go.
	spare     time.Time
	spareHash string

	// ready is since when the agent has seen its API server ready, by its own clock: that
	// of whoever wrote so may be another. readyPod tells which, and since when.
	ready    time.Time
	readyPod string

	configs config.Decoder

	// server is what was last read from the manifest of the API server, serverRaw its
	// text.
	server    *corev1.Pod
	serverRaw []byte
}

// New returns an agent that does nothing until its controller is driven.
func New(cfg Config) *Agent {
	for _, d := range []struct {
		value *string
		usual string
	}{
		{&cfg.Dir, DefaultDir}, {&cfg.Manifest, DefaultManifest}, {&cfg.Sockets, DefaultSockets}, {&cfg.Container, DefaultContainer},
	} {
		if *d.value == "" {
			*d.value = d.usual
		}
	}
	if cfg.Local == nil {
		cfg.Local = cfg.Live
	}
	if cfg.MinReady == 0 {
		cfg.MinReady = DefaultMinReady
	}
	return &Agent{cfg: cfg}
}

// Controller returns what drives the agent.
func (a *Agent) Controller() kube.Controller {
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "node"}}
	all := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request} }
	return kube.Controller{
		Name: "EncryptionNodeAgent", Reconciler: a, Start: []reconcile.Request{request},
		Watches: []kube.Watch{
			{Object: &v1alpha1.EncryptionPolicy{}, Name: v1alpha1.PolicyName, Requests: all},
			{Object: &corev1.Pod{}, Namespace: a.cfg.PodNamespace, Selector: a.cfg.Selector, Requests: all},
		},
	}
}

// Reasons to load nothing.
var (
	ErrUnsafe   = errors.New("it is before the first that is safe")
	ErrBackward = errors.New("the node runs a later one, and an agent does not go back")
	errHollow   = errors.New("it holds no configuration")
)

// sight is what an agent sees.
type sight struct {
	policy *v1alpha1.EncryptionPolicy

	// server is the manifest of the API server, onDisk the revision that it asks for;
	// zero for none.
	server *manifest
	onDisk int64

	// pod is that of the API server; nil if the API shows none.
	pod *corev1.Pod
}

// revision is one that a node is to load.
type revision struct {
	*corev1.Secret
	on state.State // what is in it
}

// running is the revision of a Pod, if it is ready.
func (s *sight) running() (revision int64, ready bool) {
	if s.pod == nil || s.pod.DeletionTimestamp != nil {
		return 0, false
	}
	revision, _ = strconv.ParseInt(s.pod.Labels[RevisionLabel], 10, 64)
	return revision, s.pod.Status.Phase == corev1.PodRunning && readiness(s.pod) != nil
}

// readiness is the condition that says that a Pod is ready; nil if it is not.
func readiness(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// untilReady is how long the API server, which is ready, has yet to be so; zero or less
// if it has been for long enough.
func (a *Agent) untilReady(s *sight) time.Duration {
	which := string(s.pod.UID) + readiness(s.pod).LastTransitionTime.String()
	if since := a.cfg.Clock.Since(a.ready); a.readyPod != which || since < 0 { // or the clock was set back
		a.ready, a.readyPod = a.cfg.Clock.Now(), which
	}
	return a.cfg.MinReady - a.cfg.Clock.Since(a.ready)
}

// Reconcile implements reconcile.Reconciler: one look at the node, and one step.
func (a *Agent) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	s, err := a.look(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if s.policy == nil {
		return reconcile.Result{RequeueAfter: Resync}, nil
	}
	if err := a.report(ctx, s); err != nil {
		return reconcile.Result{}, err
	}
	notBack := a.bringBack(ctx, s)
	if notBack != nil && !s.fallsBack() {
		return reconcile.Result{}, notBack
	}
	cfg, err := a.wanted(ctx, s)
	if err != nil || cfg == nil {
		return reconcile.Result{RequeueAfter: Resync}, err
	}
	act := a.byRevision
	if s.policy.Spec.Rollout.Mode == v1alpha1.AutomaticReload {
		act = a.byReload
	}
	after, err := act(ctx, s, cfg)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("load revision %d: %w", s.policy.Status.LatestRevision, err)
	}
	if notBack != nil { // nor can it be before some API server has loaded the revision
		a.cfg.Log.V(1).Info("The Secret of the revision that the node has made cannot be written yet", "reason", notBack.Error())
		after = min(after, Poll)
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

func (a *Agent) look(ctx context.Context) (*sight, error) {
	s := &sight{policy: &v1alpha1.EncryptionPolicy{}}
	err := a.cfg.Live.Get(ctx, client.ObjectKey{Name: v1alpha1.PolicyName}, s.policy)
	if apierrors.IsNotFound(err) {
		return &sight{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get EncryptionPolicy %s: %w", v1alpha1.PolicyName, err)
	}
	if s.server, err = a.readServer(ctx); err != nil {
		return nil, err
	}
	if s.onDisk, err = s.server.revision(); err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := a.cfg.Live.List(ctx, pods, client.InNamespace(a.cfg.PodNamespace), client.MatchingLabelsSelector{Selector: a.cfg.Selector}); err != nil {
		return nil, fmt.Errorf("list the Pods of API servers in %s: %w", a.cfg.PodNamespace, err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Spec.NodeName == a.cfg.Node {
			s.pod = p
		}
	}
	return s, nil
}

// wanted returns the revision that the node is to load; nil if there is none yet. One
// that is not safe is refused.
func (a *Agent) wanted(ctx context.Context, s *sight) (*revision, error) {
	latest, safe := s.policy.Status.LatestRevision, s.policy.Status.MinSafeRevision
	switch {
	case latest == 0:
		return nil, nil
	case latest < safe:
		return nil, fmt.Errorf("load revision %d: %w, %d", latest, ErrUnsafe, safe)
	case latest < s.onDisk:
		return nil, fmt.Errorf("load revision %d: %w, %d", latest, ErrBackward, s.onDisk)
	}
	cfg := &corev1.Secret{}
	name := client.ObjectKey{Namespace: a.cfg.ConfigNamespace, Name: config.RevisionName(latest)}
	if err := a.cfg.Live.Get(ctx, name, cfg); err != nil {
		if cfg = a.fallback(ctx, s); cfg == nil {
			return nil, fmt.Errorf("get Secret %s: %w", name, err)
		}
	}
	on, err := a.configs.Decode(cfg)
	if err != nil {
		return nil, err
	}
	if len(on) == 0 {
		return nil, fmt.Errorf("load Secret %s: %w", name, errHollow)
	}
	return &revision{cfg, on}, nil
}

// folder is that of a revision.
func (a *Agent) folder(revision int64) string {
	return path.Join(a.cfg.Dir, "rev-"+strconv.FormatInt(revision, 10))
}
