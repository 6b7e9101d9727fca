package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// rescanPeriod is the time between looks at all processes of tracked cgroups: events of
// the kernel may be lost.
const rescanPeriod = 30 * time.Second

// execDelays are when it is tried to attach to a program that was started.
var execDelays = []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond}

// Run acts on what the kernel has to say, until ctx ends.
func (r *Reconciler) Run(ctx context.Context) error {
	r.background.Go("rescan", r.rescan)
	for {
		e, err := r.Plane.NextEvent(ctx)
		if err != nil {
			return err
		}
		switch {
		case e.Exec != nil:
			r.background.Go("exec", func(ctx context.Context) { r.onExec(ctx, *e.Exec) })
		case e.Violation != nil:
			r.onViolation(*e.Violation)
		}
	}
}

// holder returns the Pod and the container that a cgroup is of.
func (r *Reconciler) holder(cg policy.Cgroup) (*pod, *container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		p := r.pods[uid]
		for _, id := range slices.Sorted(maps.Keys(p.containers)) {
			if c := p.containers[id]; c.cgroup == cg {
				return p, c
			}
		}
	}
	return nil, nil
}

// onExec attaches to a program that was started in a tracked cgroup.
func (r *Reconciler) onExec(ctx context.Context, e plane.Exec) {
	for _, delay := range execDelays {
		if r.Clock.Sleep(ctx, delay) != nil {
			return
		}
		if _, c := r.holder(e.Cgroup); c == nil {
			return // it is gone, and its number may be another's
		}
		err := r.Plane.AttachExe(ctx, e.PID)
		if err == nil || errors.Is(err, plane.ErrNoProcess) {
			return
		}
		r.Log.Error(err, "Could not attach to program", "pid", e.PID)
	}
}

// rescan attaches to whatever runs in tracked cgroups, now and then, and again to what
// should be attached and is not.
func (r *Reconciler) rescan(ctx context.Context) {
	for r.Clock.Sleep(ctx, rescanPeriod) == nil {
		if err := errors.Join(r.repair(ctx), r.forgetUnknown(ctx)); err != nil {
			r.Log.Error(err, "Could not look at what is attached")
		}
		for _, cg := range r.cgroups() {
			pids, err := r.Plane.Processes(ctx, cg)
			if err != nil {
				r.Log.Error(err, "Could not look for programs")
			}
			for _, pid := range pids {
				if err := r.Plane.AttachExe(ctx, pid); err != nil && !errors.Is(err, plane.ErrNoProcess) {
					r.Log.Error(err, "Could not attach to program", "pid", pid)
				}
			}
		}
	}
}

// forgetUnknown forgets Pods that are in no list: one that was deleted before the runtime
// asked for it has no event any more.
func (r *Reconciler) forgetUnknown(ctx context.Context) error {
	for _, uid := range r.tracked(func(*pod) bool { return true }) {
		r.mu.Lock()
		t := r.pods[uid]
		r.mu.Unlock()
		if t == nil {
			continue
		}
		p, err := r.find(ctx, t.name, uid)
		if err != nil {
			return err
		}
		if p != nil {
			continue // its events come
		}
		if err := r.forget(ctx, uid); err != nil && !errors.Is(err, plane.ErrBusy) {
			return err
		}
	}
	return nil
}

// repair attaches to the networks of Pods that are prepared and are not attached, and
// tracks cgroups that are not tracked.
func (r *Reconciler) repair(ctx context.Context) error {
	is, err := r.Plane.Attachments(ctx)
	if err != nil {
		return err
	}
	for _, cg := range r.cgroups() {
		if !slices.Contains(is.Cgroups, cg) {
			if err := r.Plane.TrackCgroup(ctx, cg); err != nil {
				return err
			}
		}
	}
	for _, uid := range r.tracked(func(p *pod) bool { return p.prepared && !slices.Contains(is.Netns, p.netns) }) {
		err := r.lane.Do(ctx, string(uid), func() error {
			r.mu.Lock()
			t := r.pods[uid]
			r.mu.Unlock()
			if t == nil || !t.prepared {
				return nil
			}
			return r.attach(ctx, t, t.path, slices.Clone(t.addrs))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cgroups returns those that are tracked, in order.
func (r *Reconciler) cgroups() (cgs []policy.Cgroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods {
		for _, c := range p.containers {
			cgs = append(cgs, c.cgroup)
		}
	}
	slices.Sort(cgs)
	return cgs
}

// onViolation tells that a Pod used a placeholder that it may not use there.
func (r *Reconciler) onViolation(v plane.Violation) {
	t, c := r.holder(v.Cgroup)
	if t == nil {
		return
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.name.Namespace, Name: t.name.Name, UID: t.uid}}
	r.once(fmt.Sprint("violation ", t.uid, v.Owner, v.Why), p, "PlaceholderNotSwapped", fmt.Sprintf(
		"container %s sent the placeholder of %s where it may not be swapped: %s", c.name, v.Owner, v.Why))
}

// confirm prepares all Pods of the node, and then ends whatever an agent of before has
// left that is nobody's.
func (r *Reconciler) confirm(ctx context.Context) error {
	var pods corev1.PodList
	if err := r.Cache.List(ctx, &pods); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if !r.mine(p) {
			continue
		}
		err := r.lane.Do(ctx, string(p.UID), func() error {
			_, err := r.reconcile(ctx, p)
			return err
		})
		if err != nil {
			return fmt.Errorf("prepare Pod %s/%s: %w", p.Namespace, p.Name, err)
		}
	}
	left, err := r.Plane.Attachments(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(r.endLeftovers(ctx, left), r.Binder.Confirm(ctx)); err != nil {
		return err
	}
	for _, ns := range left.Netns {
		if len(r.tracked(func(p *pod) bool { return p.netns == ns })) == 0 {
			// One that is in use yet makes this be tried again later.
			if err := r.Plane.DetachNetns(ctx, ns); err != nil {
				return err
			}
		}
	}
	return nil
}

// endLeftovers ends what cgroups and addresses may do that belong to no Pod that is
// tracked.
func (r *Reconciler) endLeftovers(ctx context.Context, left plane.Attachments) error {
	mine := r.cgroups()
	for _, cg := range left.Cgroups {
		if !slices.Contains(mine, cg) {
			if err := errors.Join(r.Binder.Unbind(ctx, cg), r.Plane.UntrackCgroup(ctx, cg)); err != nil {
				return err
			}
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(left.Bound), netip.Addr.Compare) {
		if uid := left.Bound[a]; len(r.tracked(func(p *pod) bool { return p.uid == uid })) == 0 {
			if err := r.Plane.UnbindPod(ctx, a, uid); err != nil {
				return err
			}
		}
	}
	return nil
}
