package node_test

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// A container that has ended, and has no other in its place, may use nothing any more.
func TestContainerEnds(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		p.status(func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "containerd://" + p.c.ID}}
		})
		p.reconcile(1)
		l.want("it has ended", "1 networks, 1 addresses, 0 cgroups, 0 grants")
	})
}

// Section 2.9: a new sandbox for the same Pod is prepared although that of before has not
// been removed yet; when it is, late, the Pod keeps its address.
func TestSandboxAnewTooEarly(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		old := *p.sb
		l.kernel.RemoveCgroup(p.cgroup)
		addr := netip.MustParseAddr("10.1.0.9")
		p.netns, p.sb.NetnsPath = l.kernel.AddNetns(addr)
		p.sb.ID, p.sb.IPs = "sandbox-2", []netip.Addr{addr}
		l.PrepareSandbox(l.ctx, p.sb)
		if a, err := l.plane.Attachments(l.ctx); err != nil || a.Bound[addr] != p.pod.UID || a.Netns[0] != p.netns {
			t.Errorf("%+v, %v", a, err)
		}
		l.SandboxRemoved(l.ctx, &old)
		if l.PrepareSandbox(l.ctx, l.pod("b", addr.String(), nil).sb) {
			t.Error("another Pod gets the address of one that is there")
		}
	})
}

// A Pod that nobody can read is not prepared, however often it is asked: its secrets are
// not known.
func TestPodThatCannotBeRead(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.cut = true
		for range 2 {
			if l.PrepareSandbox(l.ctx, p.sb) {
				t.Error("it counts as prepared")
			}
		}
		l.cut = false
		if !l.PrepareSandbox(l.ctx, p.sb) {
			t.Error("it is not prepared, though it can be read")
		}
	})
}

// What an agent of before has granted to a cgroup that is nobody's is taken away.
func TestGrantsOfNobody(t *testing.T) {
	inAgent(t, func(l *lab) {
		entries, err := l.plane.Entries(l.ctx)
		if err != nil || len(entries) == 0 {
			t.Fatal(entries, err)
		}
		if err := l.plane.SetACL(l.ctx, nil, []policy.Grant{{Cgroup: 77, Key: entries[0].Key()}}); err != nil {
			t.Fatal(err)
		}
		l.restart()
		l.want("before it has looked", "0 networks, 0 addresses, 0 cgroups, 1 grants")
		if _, err := l.Reconcile(l.ctx, l.Controller().Start[0]); err != nil {
			t.Fatal(err)
		}
		l.want("after", "0 networks, 0 addresses, 0 cgroups, 0 grants")
	})
}
