package kernel

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// AttachNetns implements plane.Pods.
func (k *Kernel) AttachNetns(ctx context.Context, name string) (id plane.Netns, err error) {
	err = k.do(ctx, "attach to network namespace", func() error {
		for _, n := range slices.Sorted(maps.Keys(k.netns)) {
			if path(n) == name {
				id = n
				k.attached[n] = []Layout{k.layout} // attaching replaces, and never adds
				k.generation++
				return nil
			}
		}
		return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	})
	return id, err
}

// DetachNetns implements plane.Pods.
func (k *Kernel) DetachNetns(ctx context.Context, id plane.Netns) error {
	return k.do(ctx, "detach from network namespace", func() error {
		for _, p := range k.processes {
			if p.netns == id {
				return fmt.Errorf("network namespace %d: %w", id, plane.ErrBusy)
			}
		}
		delete(k.attached, id)
		return nil
	})
}

// Addresses implements plane.Pods.
func (k *Kernel) Addresses(ctx context.Context, id plane.Netns) (addrs []netip.Addr, err error) {
	err = k.do(ctx, "read addresses", func() error {
		n := k.netns[id]
		if n == nil {
			return fmt.Errorf("network namespace %d: %w", id, fs.ErrNotExist)
		}
		addrs = slices.Clone(n.addrs)
		return nil
	})
	return addrs, err
}

// BindPod implements plane.Pods.
func (k *Kernel) BindPod(ctx context.Context, addr netip.Addr, uid types.UID) error {
	return k.do(ctx, "bind Pod", func() error {
		if _, there := k.bound[addr]; !there && len(k.bound) >= k.opts.Limits.Bound {
			return full("addresses of Pods", k.opts.Limits.Bound)
		}
		k.bound[addr] = uid
		return nil
	})
}

// UnbindPod implements plane.Pods.
func (k *Kernel) UnbindPod(ctx context.Context, addr netip.Addr, uid types.UID) error {
	return k.do(ctx, "unbind Pod", func() error {
		if k.bound[addr] == uid {
			delete(k.bound, addr)
		}
		return nil
	})
}

// FindNetns implements plane.Pods.
func (k *Kernel) FindNetns(ctx context.Context, uid types.UID) (name string, err error) {
	err = k.do(ctx, "find network namespace", func() error {
		for _, pid := range slices.Sorted(maps.Keys(k.processes)) {
			p := k.processes[pid]
			if cg := k.cgroups[p.cgroup]; cg != nil && cg.uid == uid && k.netns[p.netns] != nil {
				name = path(p.netns)
				return nil
			}
		}
		return fmt.Errorf("of Pod %s: %w", uid, plane.ErrNoProcess)
	})
	return name, err
}

// FindCgroup implements plane.Pods.
func (k *Kernel) FindCgroup(ctx context.Context, uid types.UID, container string) (found policy.Cgroup, err error) {
	err = k.do(ctx, "find cgroup", func() error {
		for _, id := range slices.Sorted(maps.Keys(k.cgroups)) {
			if cg := k.cgroups[id]; cg.uid == uid && cg.container == container {
				found = id
				return nil
			}
		}
		return fmt.Errorf("of container %s: %w", container, plane.ErrNoProcess)
	})
	return found, err
}

// TrackCgroup implements plane.Pods.
func (k *Kernel) TrackCgroup(ctx context.Context, cg policy.Cgroup) error {
	return k.do(ctx, "track cgroup", func() error {
		if !k.tracked[cg] && len(k.tracked) >= k.opts.Limits.Cgroups {
			return full("cgroups", k.opts.Limits.Cgroups)
		}
		k.tracked[cg] = true
		return nil
	})
}

// UntrackCgroup implements plane.Pods.
func (k *Kernel) UntrackCgroup(ctx context.Context, cg policy.Cgroup) error {
	return k.do(ctx, "untrack cgroup", func() error {
		delete(k.tracked, cg)
		return nil
	})
}

// AttachLibraries implements plane.Pods.
func (k *Kernel) AttachLibraries(ctx context.Context, id policy.Cgroup) error {
	return k.do(ctx, "attach to TLS libraries", func() error {
		cg := k.cgroups[id]
		if cg == nil {
			return fmt.Errorf("in cgroup %d: %w", id, plane.ErrNoProcess)
		}
		for _, f := range cg.libraries {
			k.hooked[f] = true
		}
		return nil
	})
}

// AttachCommand implements plane.Pods.
func (k *Kernel) AttachCommand(ctx context.Context, id policy.Cgroup, args []string) error {
	return k.do(ctx, "attach to command", func() error {
		cg := k.cgroups[id]
		if cg == nil {
			return fmt.Errorf("in cgroup %d: %w", id, plane.ErrNoProcess)
		}
		if len(args) > 0 && cg.commands[args[0]] != "" {
			k.hooked[cg.commands[args[0]]] = true
		}
		return nil
	})
}

// AttachExe implements plane.Pods.
func (k *Kernel) AttachExe(ctx context.Context, pid int) error {
	return k.do(ctx, "attach to executable", func() error {
		p := k.processes[pid]
		if p == nil {
			return fmt.Errorf("%d: %w", pid, plane.ErrNoProcess)
		}
		if p.exe != "" {
			k.hooked[p.exe] = true
		}
		return nil
	})
}

// Attachments implements plane.Pods.
func (k *Kernel) Attachments(ctx context.Context) (a plane.Attachments, err error) {
	err = k.do(ctx, "read attachments", func() error {
		a.Netns = slices.Sorted(maps.Keys(k.attached))
		a.Cgroups = slices.Sorted(maps.Keys(k.tracked))
		a.Bound = maps.Clone(k.bound)
		return nil
	})
	return a, err
}

// Processes implements plane.Pods.
func (k *Kernel) Processes(ctx context.Context, id policy.Cgroup) (pids []int, err error) {
	err = k.do(ctx, "read processes", func() error {
		for _, pid := range slices.Sorted(maps.Keys(k.processes)) {
			if k.processes[pid].cgroup == id {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids, err
}
