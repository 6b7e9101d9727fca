package kernel

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// File is a file with TLS code, by what an inode would tell: two containers of one image
// share it.
type File string

type netns struct {
	addrs []netip.Addr
}

type cgroup struct {
	uid       types.UID
	container string
	libraries []File // in the root file system
	commands  map[string]File
}

type process struct {
	cgroup policy.Cgroup
	netns  plane.Netns
	exe    File
}

// AddNetns makes a network namespace with addresses, as a CNI plugin does, and returns
// it and the path that the runtime reports.
func (k *Kernel) AddNetns(addrs ...netip.Addr) (plane.Netns, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inode++
	id := plane.Netns(k.inode)
	k.netns[id] = &netns{addrs: slices.Clone(addrs)}
	return id, path(id)
}

func path(id plane.Netns) string { return fmt.Sprintf("/var/run/netns/%d", id) }

// RemoveNetns removes one, and with it what is attached to it.
func (k *Kernel) RemoveNetns(id plane.Netns) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.netns, id)
	delete(k.attached, id)
	k.turnover++
}

// Lose takes off what is attached to a network namespace, as somebody on the node might.
func (k *Kernel) Lose(id plane.Netns) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.attached, id)
}

// Image is what is in the root file system of a container.
type Image struct {
	Libraries []File          // TLS libraries
	Commands  map[string]File // executables by their paths, with TLS code linked in
}

// AddCgroup makes the cgroup of a container.
func (k *Kernel) AddCgroup(uid types.UID, container string, image Image) policy.Cgroup {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inode++
	id := policy.Cgroup(k.inode)
	k.cgroups[id] = &cgroup{uid: uid, container: container, libraries: image.Libraries, commands: image.Commands}
	return id
}

// RemoveCgroup ends what runs in a cgroup, and removes it.
func (k *Kernel) RemoveCgroup(id policy.Cgroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pid := range slices.Sorted(maps.Keys(k.processes)) {
		if k.processes[pid].cgroup == id {
			k.exit(pid)
		}
	}
	for cookie, s := range k.sockets {
		if s.cgroup == id {
			delete(k.sockets, cookie)
		}
	}
	delete(k.cgroups, id)
	k.turnover++
}

// Fork starts a process in a cgroup and a network namespace. It runs nothing yet.
func (k *Kernel) Fork(cg policy.Cgroup, ns plane.Netns) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pid++
	k.processes[k.pid] = &process{cgroup: cg, netns: ns}
	return k.pid
}

// Exec lets a process run a program. If its cgroup is tracked, there is an event.
func (k *Kernel) Exec(pid int, program string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[pid]
	if p == nil {
		return
	}
	p.exe = ""
	if cg := k.cgroups[p.cgroup]; cg != nil {
		p.exe = cg.commands[program]
	}
	if k.tracked[p.cgroup] {
		k.emit(plane.Event{Exec: &plane.Exec{Cgroup: p.cgroup, PID: pid}})
	}
}

// Exit ends a process.
func (k *Kernel) Exit(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.exit(pid)
}

// exit ends a process with all its threads.
func (k *Kernel) exit(pid int) {
	delete(k.processes, pid)
	maps.DeleteFunc(k.pending, func(t Thread, _ pending) bool { return t.PID == pid })
}

// Hooked reports whether the TLS code in a file is hooked.
func (k *Kernel) Hooked(f File) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.hooked[f]
}
