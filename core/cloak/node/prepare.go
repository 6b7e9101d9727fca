package node

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// PrepareSandbox attaches the data plane to the network of a Pod and binds the Pod at
// its addresses, while the runtime waits. It reports whether the Pod is prepared, or
// needs nothing; if not, the reconciler does it while the Pod is pending.
//
// It does nothing the second time for the same sandbox.
func (r *Reconciler) PrepareSandbox(ctx context.Context, sb *Sandbox) bool {
	if sb.Annotations[cloak.AnnotationEnabled] != "true" {
		return true
	}
	if sb.NetnsPath == "" {
		return false
	}
	prepared := false
	err := r.lane.Do(ctx, string(sb.UID), func() (err error) {
		prepared, err = r.prepareSandbox(ctx, sb)
		return err
	})
	if err != nil {
		r.Log.Error(err, "Sandbox is not prepared", "pod", sb.Namespace+"/"+sb.Name, "sandbox", sb.ID)
		return false
	}
	return prepared
}

func (r *Reconciler) prepareSandbox(ctx context.Context, sb *Sandbox) (bool, error) {
	name := types.NamespacedName{Namespace: sb.Namespace, Name: sb.Name}
	t := r.track(sb.UID, name)
	if t.prepared && t.sandbox == sb.ID {
		return true, nil
	}
	// Without the Pod itself all can be done but to know its secrets.
	p, err := r.find(ctx, name, sb.UID)
	if err != nil {
		r.Log.Error(err, "Pod could not be read", "pod", name)
	}
	addrs := sb.IPs
	if len(addrs) == 0 && p != nil {
		addrs = addressesOf(p)
	}
	t.prepared, t.removed = false, false
	if err := r.attach(ctx, t, sb.NetnsPath, addrs); err != nil {
		return false, err
	}
	t.sandbox, t.prepared = sb.ID, p != nil
	return p != nil, nil
}

// find reads a Pod with a uid: from the cache, or else from the API server, since the
// cache may not have it yet, or one that had its name before. Nil means that neither
// has it.
func (r *Reconciler) find(ctx context.Context, name types.NamespacedName, uid types.UID) (*corev1.Pod, error) {
	for _, reader := range []kube.Reader{r.Cache, r.APIReader} {
		if reader == nil {
			continue
		}
		p := &corev1.Pod{}
		err := reader.Get(ctx, name, p)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil && p.UID == uid {
			return p, nil
		}
	}
	return nil, nil
}

// prepareByPolling prepares a Pod that the runtime did not ask for.
func (r *Reconciler) prepareByPolling(ctx context.Context, t *pod, p *corev1.Pod) error {
	path, err := r.Plane.FindNetns(ctx, p.UID)
	if err != nil {
		return err
	}
	if err := r.attach(ctx, t, path, addressesOf(p)); err != nil {
		return err
	}
	t.prepared, t.removed = true, false
	return nil
}

// attach attaches to a network namespace, and binds the addresses that the Pod has in
// it; none means that they are looked up there.
func (r *Reconciler) attach(ctx context.Context, t *pod, path string, addrs []netip.Addr) error {
	ns, err := r.Plane.AttachNetns(ctx, path)
	if err != nil {
		return err
	}
	before := t.netns
	t.netns, t.path = ns, path
	if before != 0 && before != ns {
		// The sandbox was made anew.
		if err := r.Plane.DetachNetns(ctx, before); err != nil {
			return err
		}
	}
	if len(addrs) == 0 {
		if addrs, err = r.Plane.Addresses(ctx, ns); err != nil {
			return err
		}
	}
	if err := r.unbind(ctx, t, addrs); err != nil {
		return err
	}
	for _, a := range addrs {
		if err := r.claim(t, a); err != nil {
			return err
		}
		if err := r.Plane.BindPod(ctx, a, t.uid); err != nil {
			return err
		}
	}
	return nil
}

// claim makes an address the Pod's, unless it is that of another whose sandbox is still
// there.
func (r *Reconciler) claim(t *pod, a netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.pods[r.addrs[a]]; other != nil && other != t && !other.removed {
		return fmt.Errorf("address %s is that of Pod %s", a, other.name)
	}
	r.addrs[a] = t.uid
	if !slices.Contains(t.addrs, a) {
		t.addrs = append(t.addrs, a)
	}
	return nil
}

// unbind ends the binding of a Pod's addresses but for those that it keeps.
func (r *Reconciler) unbind(ctx context.Context, t *pod, keep []netip.Addr) error {
	for _, a := range slices.Clone(t.addrs) {
		if slices.Contains(keep, a) {
			continue
		}
		if err := r.Plane.UnbindPod(ctx, a, t.uid); err != nil {
			return err
		}
		r.mu.Lock()
		if r.addrs[a] == t.uid {
			delete(r.addrs, a)
		}
		t.addrs = slices.DeleteFunc(t.addrs, func(b netip.Addr) bool { return a == b })
		r.mu.Unlock()
	}
	return nil
}

func addressesOf(p *corev1.Pod) (addrs []netip.Addr) {
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// SandboxRemoved lets another Pod have the addresses of a sandbox.
func (r *Reconciler) SandboxRemoved(ctx context.Context, sb *Sandbox) {
	if sb.Annotations[cloak.AnnotationEnabled] != "true" {
		return
	}
	err := r.lane.Do(ctx, string(sb.UID), func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		// A sandbox of before that goes late says nothing about the one that is there.
		if t := r.pods[sb.UID]; t != nil && (t.sandbox == sb.ID || t.sandbox == "") {
			t.removed, t.prepared = true, false
		}
		return nil
	})
	if err != nil {
		r.Log.Error(err, "Sandbox is still known", "pod", sb.Namespace+"/"+sb.Name, "sandbox", sb.ID)
	}
}

// PrepareContainer binds a container that the runtime is about to start to the secrets
// of its Pod, and attaches to its TLS code: the libraries in its root file system, and
// its command. Its process exists in its cgroup, and has not run the command yet.
//
// It returns when ctx ends at the latest. Attaching goes on in the background then, and
// the reconciler does not do it again; what fails, the reconciler tries once the
// container is running.
func (r *Reconciler) PrepareContainer(ctx context.Context, sb *Sandbox, c *Container) {
	if sb.Annotations[cloak.AnnotationEnabled] != "true" {
		return
	}
	attached := r.Clock.NewSignal()
	err := r.lane.Do(ctx, string(sb.UID), func() error {
		name := types.NamespacedName{Namespace: sb.Namespace, Name: sb.Name}
		t := r.track(sb.UID, name)
		p, err := r.find(ctx, name, sb.UID)
		if err != nil {
			return err
		}
		if p != nil && p.Spec.HostNetwork {
			r.refuseHostNetwork(p)
			attached.Send()
			return nil
		}
		k, err := r.bind(ctx, t, p, c)
		if err != nil {
			return err
		}
		if !r.hook(t, k, attached.Send) {
			attached.Send() // somebody else is at it
		}
		return nil
	})
	if err == nil {
		err = attached.Wait(ctx)
	}
	if err != nil {
		r.Log.Error(err, "Container starts before all is attached", "pod", sb.Namespace+"/"+sb.Name, "container", c.Name)
	}
}

// bind tracks the cgroup of a container, and lets it use what its Pod refers to. A Pod
// that is not known refers to nothing, for now.
func (r *Reconciler) bind(ctx context.Context, t *pod, p *corev1.Pod, c *Container) (*container, error) {
	r.mu.Lock()
	k := t.containers[c.ID]
	r.mu.Unlock()
	if k == nil {
		cg, err := r.Plane.FindCgroup(ctx, t.uid, c.ID)
		if err != nil {
			return nil, err
		}
		t.numbers++
		k = &container{id: c.ID, name: c.Name, number: t.numbers, cgroup: cg, args: c.Args}
		// Known before it is tracked, so that whatever happens it is ended some day.
		r.mu.Lock()
		t.containers[c.ID] = k
		r.mu.Unlock()
	}
	if err := r.Plane.TrackCgroup(ctx, k.cgroup); err != nil {
		return nil, err
	}
	if p == nil {
		return k, nil
	}
	if err := r.Binder.Bind(ctx, k.cgroup, usesOf(p, c.Name)); err != nil {
		return nil, err
	}
	k.bound = true
	return k, nil
}

// hook attaches to the TLS code of a container in the background and calls done then. It
// returns false if that is done or under way already.
func (r *Reconciler) hook(t *pod, k *container, done func()) bool {
	r.mu.Lock()
	busy := k.attached || k.attaching
	if !busy {
		k.attaching = true
	}
	r.mu.Unlock()
	if busy {
		return false
	}
	r.background.Go("attach "+k.id, func(ctx context.Context) {
		defer done()
		ctx, cancel := r.Clock.WithTimeout(ctx, attachPatience)
		defer cancel()
		err := r.Plane.AttachCommand(ctx, k.cgroup, k.args)
		if err == nil {
			err = r.Plane.AttachLibraries(ctx, k.cgroup)
		}
		if err != nil {
			r.Log.Error(err, "Could not attach to container", "pod", t.name, "container", k.name)
		}
		r.mu.Lock()
		k.attached, k.attaching = err == nil, false
		r.mu.Unlock()
	})
	return true
}

// ensure brings a running container to be bound and attached. It reports whether it is.
func (r *Reconciler) ensure(ctx context.Context, t *pod, p *corev1.Pod, c *Container) (attached bool, err error) {
	r.mu.Lock()
	k := t.containers[c.ID]
	r.mu.Unlock()
	if k == nil || !k.bound {
		if k, err = r.bind(ctx, t, p, c); err != nil {
			return false, err
		}
	}
	r.hook(t, k, func() {})
	r.mu.Lock()
	defer r.mu.Unlock()
	return k.attached, nil
}

var _ Preparer = (*Reconciler)(nil)
var _ Binder = (*secretsync.Syncer)(nil)
