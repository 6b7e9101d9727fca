package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/core/cloak/serial"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
)

const (
	// PollPeriod is the time between looks at what is not attached yet.
	PollPeriod = 500 * time.Millisecond

	// attachPatience is how long attaching to a container may take in the background.
	attachPatience = 30 * time.Second
)

// Binder lets cgroups use secrets; [secretsync.Syncer] is one.
type Binder interface {
	Bind(ctx context.Context, cg policy.Cgroup, uses []secretsync.Use) error
	Unbind(ctx context.Context, cg policy.Cgroup) error
	Confirm(ctx context.Context) error
}

// Config is what a Reconciler needs.
type Config struct {
	// Cache reads Pods.
	Cache kube.Reader

	// APIReader reads a Pod that the cache does not have yet; nil means that only the
	// cache is asked.
	APIReader kube.Reader

	Plane interface {
		plane.Pods
		plane.Events
	}
	Binder   Binder
	Clock    clock.Clock
	NodeName string // of the Pods that count; empty means all
	Recorder cloak.Recorder
	Log      logr.Logger
}

// Reconciler watches Pods, and prepares them when the runtime asks.
type Reconciler struct {
	Config
	background clock.Group
	lane       *serial.Lanes // by uid

	// mu guards what is below and is not held while anything waits. The Pod itself is
	// changed in its lane only, but for how far its containers are attached.
	mu    sync.Mutex
	pods  map[types.UID]*pod
	addrs map[netip.Addr]types.UID // to whom each is bound
	told  map[string]time.Duration // when events of the data plane were told last
}

// pod is what is known of a Pod that is tracked.
type pod struct {
	uid        types.UID
	name       types.NamespacedName
	sandbox    string // that was prepared
	prepared   bool
	removed    bool // its sandbox is gone
	netns      plane.Netns
	path       string // of the network namespace
	addrs      []netip.Addr
	containers map[string]*container // by id
	numbers    int                   // that containers have got
}

// container is what is known of one container.
type container struct {
	id, name  string
	number    int // of the containers of its Pod, in the order in which they came
	cgroup    policy.Cgroup
	args      []string
	bound     bool
	attached  bool
	attaching bool
}

// New returns a Reconciler whose background work ends with ctx.
func New(ctx context.Context, cfg Config) *Reconciler {
	return &Reconciler{
		Config: cfg, background: cfg.Clock.NewGroup(ctx), lane: serial.New(cfg.Clock),
		pods: map[types.UID]*pod{}, addrs: map[netip.Addr]types.UID{}, told: map[string]time.Duration{},
	}
}

// GetTrackedPodCount returns the number of Pods that are tracked.
func (r *Reconciler) GetTrackedPodCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pods)
}

// confirm is the request, once at the start, to end what an agent of before has left.
var confirm = reconcile.Request{NamespacedName: types.NamespacedName{Name: "confirm"}}

// Controller returns what watches the Pods of the node: a cluster has many more.
func (r *Reconciler) Controller() kube.Controller {
	pods := kube.Watch{Object: &corev1.Pod{}}
	if r.NodeName != "" {
		pods.Fields = fields.OneTermEqualSelector("spec.nodeName", r.NodeName)
	}
	return kube.Controller{
		Name:       "cloak-pod",
		Reconciler: r,
		Watches:    []kube.Watch{pods},
		Start:      []reconcile.Request{confirm},
		Workers:    4,
	}
}

// Reconcile brings what is attached to one Pod to what section 2.5 of the specification
// says. Until all of it is, it looks again every [PollPeriod].
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if req == confirm {
		return reconcile.Result{}, r.confirm(ctx)
	}
	var p corev1.Pod
	err := r.Cache.Get(ctx, req.NamespacedName, &p)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read Pod %s: %w", req.NamespacedName, err)
	}
	current := types.UID("")
	if err == nil && r.mine(&p) {
		current = p.UID
	}
	// Those of the same name, but another time, end now.
	again := false
	for _, uid := range r.tracked(func(t *pod) bool { return t.name == req.NamespacedName && t.uid != current }) {
		// The runtime may have asked for one that the cache has not seen yet.
		later, err := r.find(ctx, req.NamespacedName, uid)
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("read Pod %s: %w", req.NamespacedName, err)
		}
		if later != nil && r.mine(later) {
			continue
		}
		err = r.forget(ctx, uid)
		if errors.Is(err, plane.ErrBusy) {
			again = true // the runtime has not ended it yet
		} else if err != nil {
			return reconcile.Result{}, err
		}
	}
	if current != "" {
		err = r.lane.Do(ctx, string(p.UID), func() error {
			more, err := r.reconcile(ctx, &p)
			again = again || more
			return err
		})
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("prepare Pod %s: %w", req.NamespacedName, err)
		}
	}
	if again {
		return reconcile.Result{RequeueAfter: PollPeriod}, nil
	}
	return reconcile.Result{}, nil
}

// mine reports whether a Pod counts here: it takes part, runs on this node and has not
// ended.
func (r *Reconciler) mine(p *corev1.Pod) bool {
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	return p.Annotations[cloak.AnnotationEnabled] == "true" && (r.NodeName == "" || p.Spec.NodeName == r.NodeName) && !ended
}

// tracked returns the uids of Pods that are tracked and fit, in order.
func (r *Reconciler) tracked(fits func(*pod) bool) (uids []types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		if fits(r.pods[uid]) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// track returns what is known of a Pod, which may be nothing yet.
func (r *Reconciler) track(uid types.UID, name types.NamespacedName) *pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods[uid] == nil {
		r.pods[uid] = &pod{uid: uid, name: name, containers: map[string]*container{}}
	}
	return r.pods[uid]
}

// reconcile does it for a Pod that counts, in its lane. It reports whether to look again.
func (r *Reconciler) reconcile(ctx context.Context, p *corev1.Pod) (again bool, err error) {
	if p.Spec.HostNetwork {
		r.refuseHostNetwork(p)
		return false, nil
	}
	t := r.track(p.UID, client.ObjectKeyFromObject(p))
	if !t.prepared {
		switch err := r.prepareByPolling(ctx, t, p); {
		case errors.Is(err, plane.ErrNoProcess):
			again = true // there is no sandbox yet
		case err != nil:
			return false, err
		}
	}
	for _, s := range statuses(p) {
		id := idOf(s.ContainerID)
		if s.State.Running == nil || id == "" {
			continue
		}
		attached, err := r.ensure(ctx, t, p, &Container{ID: id, Name: s.Name})
		if err != nil && !errors.Is(err, plane.ErrNoProcess) {
			return false, err
		}
		again = again || !attached
	}
	return again, r.endContainers(ctx, t, p)
}

// refuseHostNetwork says that a Pod in the host's network is not protected: there is no
// place on its way where nobody in the Pod looks.
func (r *Reconciler) refuseHostNetwork(p *corev1.Pod) {
	r.once("host-network "+string(p.UID), p, "HostNetworkUnsupported",
		"the Pod uses the host's network, where placeholders are not swapped")
}

// once records an event, unless the same was recorded within the last minute.
func (r *Reconciler) once(key string, p client.Object, reason, message string) {
	now := r.Clock.Monotonic()
	r.mu.Lock()
	last, known := r.told[key]
	fresh := !known || now-last >= time.Minute
	if fresh {
		r.told[key] = now
	}
	r.mu.Unlock()
	if fresh {
		r.Recorder.Event(p, corev1.EventTypeWarning, reason, message)
	}
}

// statuses are those of all containers of a Pod.
func statuses(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses)
}

// idOf returns the id of a container without the name of the runtime.
func idOf(containerID string) string {
	if _, id, ok := strings.Cut(containerID, "://"); ok {
		return id
	}
	return containerID
}

// endContainers ends what is attached to containers that have ended: their status says
// so, or that one that was started later has their place.
func (r *Reconciler) endContainers(ctx context.Context, t *pod, p *corev1.Pod) error {
	ended := map[string]bool{}
	running := map[string]string{}
	for _, s := range statuses(p) {
		for _, state := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
			if state != nil {
				ended[idOf(state.ContainerID)] = true
			}
		}
		if s.State.Running != nil {
			running[s.Name] = idOf(s.ContainerID)
		}
	}
	for _, id := range r.containersOf(t) {
		k := t.containers[id]
		later := t.containers[running[k.name]]
		replaced := later != nil && later.number > k.number
		if replaced || ended[id] && running[k.name] != id {
			if err := r.end(ctx, t, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// containersOf returns the ids of the containers of a Pod, in order.
func (r *Reconciler) containersOf(t *pod) (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range t.containers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// end ends one container: first it may use nothing any more.
func (r *Reconciler) end(ctx context.Context, t *pod, id string) error {
	c := t.containers[id]
	if err := r.Binder.Unbind(ctx, c.cgroup); err != nil {
		return err
	}
	if err := r.Plane.UntrackCgroup(ctx, c.cgroup); err != nil {
		return err
	}
	r.mu.Lock()
	delete(t.containers, id)
	r.mu.Unlock()
	return nil
}

// forget ends all that is attached to a Pod. Its network comes last, and not before its
// last process has ended.
func (r *Reconciler) forget(ctx context.Context, uid types.UID) error {
	return r.lane.Do(ctx, string(uid), func() error {
		r.mu.Lock()
		t := r.pods[uid]
		r.mu.Unlock()
		if t == nil {
			return nil
		}
		t.prepared = false // if it is only half forgotten, it is not prepared either
		for _, id := range r.containersOf(t) {
			if err := r.end(ctx, t, id); err != nil {
				return fmt.Errorf("forget Pod %s: %w", t.name, err)
			}
		}
		if err := r.unbind(ctx, t, nil); err != nil {
			return fmt.Errorf("forget Pod %s: %w", t.name, err)
		}
		if t.netns != 0 {
			if err := r.Plane.DetachNetns(ctx, t.netns); err != nil {
				return fmt.Errorf("forget Pod %s: %w", t.name, err)
			}
		}
		r.mu.Lock()
		delete(r.pods, uid)
		delete(r.told, "host-network "+string(uid))
		r.mu.Unlock()
		return nil
	})
}
