package node_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak/node"
)

const nothing = "0 networks, 0 addresses, 0 cgroups, 0 grants"

// Sections 2.9 and 2.10: a Pod that the runtime asks for is ready before it runs, L2,
// and all of it goes with the Pod, I16.
func TestPrepare(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		if !l.PrepareSandbox(l.ctx, p.sb) {
			l.Error("not prepared")
		}
		l.want("sandbox", "1 networks, 1 addresses, 0 cgroups, 0 grants")
		l.calls = nil
		if !l.PrepareSandbox(l.ctx, p.sb) || len(l.calls) != 0 {
			l.Errorf("a second time: %q", l.calls)
		}
		l.PrepareContainer(l.ctx, p.sb, p.c)
		l.want("container", "1 networks, 1 addresses, 1 cgroups, 2 grants")
		if !l.hooked("libssl") || !l.hooked("app") {
			l.Error("its libraries or its command are not hooked before it starts")
		}
		if took := l.clock.Monotonic() - l.began; took != 0 {
			l.Errorf("took %s", took)
		}
		p.status(nil)
		l.calls = nil
		if p.reconcile(1) || count(l.calls, "attach to TLS libraries") != 0 {
			l.Errorf("the reconciler does it again: %q", l.calls)
		}
		if n := l.GetTrackedPodCount(); n != 1 {
			l.Errorf("%d Pods are tracked", n)
		}
		p.delete()
		p.reconcile(1)
		l.want("gone", nothing)
		if n := l.GetTrackedPodCount(); n != 0 {
			l.Errorf("%d Pods are tracked", n)
		}
	})
}

// Section 2.5, L3: without the runtime's asking, by polling.
func TestPoll(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.kernel.RemoveCgroup(p.cgroup)
		if !p.reconcile(3) {
			l.Error("without a sandbox there is nothing to look for any more")
		}
		l.want("no sandbox", nothing)
		p.create("container-a")
		p.reconcile(1)
		l.want("sandbox", "1 networks, 1 addresses, 0 cgroups, 0 grants")
		p.status(nil)
		if p.reconcile(3) {
			l.Error("a running container is not attached")
		}
		l.want("running", "1 networks, 1 addresses, 1 cgroups, 2 grants")
		if !l.hooked("libssl") {
			l.Error("its libraries are not hooked")
		}
	})
}

// Section 2.9, step 1 and 2, and S31: Pods that need nothing, or cannot have it.
func TestPodsThatAreNotPrepared(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("off", "10.1.0.1", func(p *corev1.Pod) { p.Annotations = nil })
		if !l.PrepareSandbox(l.ctx, p.sb) {
			l.Error("nothing is needed, so it is prepared")
		}
		l.PrepareContainer(l.ctx, p.sb, p.c)
		l.SandboxRemoved(l.ctx, p.sb)
		p.status(nil)
		p.reconcile(1)
		elsewhere := l.pod("elsewhere", "10.1.0.2", func(p *corev1.Pod) { p.Spec.NodeName = "node-2" })
		elsewhere.status(nil)
		elsewhere.reconcile(1)
		host := l.pod("host", "10.1.0.3", func(p *corev1.Pod) { p.Spec.HostNetwork = true })
		host.sb.NetnsPath = ""
		if l.PrepareSandbox(l.ctx, host.sb) {
			l.Error("in the host's network it is prepared")
		}
		l.PrepareContainer(l.ctx, host.sb, host.c)
		host.status(nil)
		host.reconcile(1)
		done := l.pod("done", "10.1.0.4", nil)
		done.status(func(s *corev1.PodStatus) { s.Phase = corev1.PodSucceeded })
		done.reconcile(1)
		l.want("none of them", nothing)
		if len(l.events) != 3 || !hasEvent(l.events, "host HostNetworkUnsupported") {
			l.Errorf("events %q", l.events)
		}
	})
}

// Section 2.9, step 2, and S5: the cache is behind, or has another Pod of that name.
func TestCacheIsBehind(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.behind = true
		if !l.PrepareSandbox(l.ctx, p.sb) {
			l.Error("the API server has the Pod")
		}
		l.PrepareContainer(l.ctx, p.sb, p.c)
		l.want("from the API server", "1 networks, 1 addresses, 1 cgroups, 2 grants")

		stale := l.pod("b", "10.1.0.2", nil)
		stale.sb.UID = "later"
		if l.PrepareSandbox(l.ctx, stale.sb) {
			l.Error("nobody has the Pod, and it is prepared")
		}
		l.PrepareContainer(l.ctx, stale.sb, stale.c)
		l.want("attached, and bound to nothing", "2 networks, 2 addresses, 1 cgroups, 2 grants")

		l.cut = true
		c := l.pod("c", "10.1.0.3", nil)
		if l.PrepareSandbox(l.ctx, c.sb) {
			l.Error("the API server does not answer, and it is prepared")
		}
		l.want("attached all the same", "3 networks, 3 addresses, 1 cgroups, 2 grants")
		l.cut, l.behind = false, false
		c.reconcile(2)
		if !l.PrepareSandbox(l.ctx, c.sb) {
			l.Error("CreateContainer asks again, and it is not prepared")
		}
	})
}

// A failure is told, and the next who asks does it: the runtime, or the reconciler.
func TestFailures(t *testing.T) {
	for _, call := range []string{"attach to network namespace", "bind Pod", "track cgroup", "find cgroup", "set grants", "attach to TLS libraries", "attach to command"} {
		inAgent(t, func(l *lab) {
			p := l.pod("a", "10.1.0.1", nil)
			l.failing[call] = true
			prepared := l.PrepareSandbox(l.ctx, p.sb)
			if want := call != "attach to network namespace" && call != "bind Pod"; prepared != want {
				l.Errorf("%s fails: prepared: %t", call, prepared)
			}
			if took := l.within(time.Second, func(ctx context.Context) { l.PrepareContainer(ctx, p.sb, p.c) }); took != 0 {
				l.Errorf("%s fails: took %s", call, took)
			}
			if call == "set grants" && l.hooked("libssl") {
				l.Error("hooked and not bound")
			}
			delete(l.failing, call)
			p.status(nil)
			if p.reconcile(4) {
				l.Errorf("%s failed: the reconciler does not end", call)
			}
			l.want(call+" failed", "1 networks, 1 addresses, 1 cgroups, 2 grants")
			if !l.hooked("libssl") {
				l.Errorf("%s failed: nothing is hooked", call)
			}
		})
	}
}

// S2: attaching takes 5 s. The container starts after its budget, bound; the rest goes
// on, once.
func TestSlowAttach(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		l.takes["attach to TLS libraries"] = 5 * time.Second
		budget := 1500 * time.Millisecond
		if took := l.within(budget, func(ctx context.Context) { l.PrepareContainer(ctx, p.sb, p.c) }); took != budget {
			l.Errorf("took %s", took)
		}
		l.want("bound", "1 networks, 1 addresses, 1 cgroups, 2 grants")
		p.status(nil)
		if !p.reconcile(3) {
			l.Error("attached already")
		}
		if p.reconcile(6) || !l.hooked("libssl") || count(l.calls, "attach to TLS libraries") != 1 {
			l.Errorf("calls %q", l.calls)
		}
	})
}

// Section 2.10: when even binding takes too long, the container starts unbound and
// unhooked, never hooked and unbound.
func TestSlowBinding(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		l.takes["set grants"] = 5 * time.Second
		if took := l.within(time.Second, func(ctx context.Context) { l.PrepareContainer(ctx, p.sb, p.c) }); took != time.Second {
			l.Errorf("took %s", took)
		}
		if l.hooked("libssl") {
			l.Error("hooked and not bound")
		}
		l.takes = map[string]time.Duration{}
		p.status(nil)
		p.reconcile(3)
		l.want("the reconciler does it", "1 networks, 1 addresses, 1 cgroups, 2 grants")
	})
}

// S24: a container that restarts has another cgroup; the old one may use nothing, first
// of all.
func TestContainerRestarts(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		p.status(nil)
		p.reconcile(1)
		old := p.c.ID
		l.kernel.RemoveCgroup(p.cgroup)
		p.create("container-a-2")
		l.PrepareContainer(l.ctx, p.sb, p.c)
		l.want("both", "1 networks, 1 addresses, 2 cgroups, 4 grants")
		l.calls = nil
		p.status(func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: "containerd://" + old}
		})
		p.reconcile(1)
		l.want("the new one", "1 networks, 1 addresses, 1 cgroups, 2 grants")
		if l.calls[len(l.calls)-4] != "set grants" && count(l.calls, "untrack cgroup") != 1 {
			l.Errorf("calls %q", l.calls)
		}
	})
}

// A container that has the place of another ends it, though nobody says how that ended; one
// that is about to start does not.
func TestContainerIsReplaced(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		p.status(nil)
		p.create("container-a-2")
		l.PrepareContainer(l.ctx, p.sb, p.c)
		p.reconcile(1)
		l.want("the second is about to start", "1 networks, 1 addresses, 2 cgroups, 4 grants")
		p.status(nil)
		p.reconcile(1)
		l.want("the second runs", "1 networks, 1 addresses, 1 cgroups, 2 grants")
	})
}

// Section 2.5: a sandbox that is made anew for the same Pod.
func TestSandboxAnew(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		old := *p.sb
		l.SandboxRemoved(l.ctx, &old)
		addr := netip.MustParseAddr("10.1.0.9")
		l.kernel.RemoveCgroup(p.cgroup)
		p.netns, p.sb.NetnsPath = l.kernel.AddNetns(addr)
		p.sb.ID, p.sb.IPs = "sandbox-2", []netip.Addr{addr}
		if !l.PrepareSandbox(l.ctx, p.sb) {
			l.Error("not prepared")
		}
		l.SandboxRemoved(l.ctx, &old) // late
		l.want("the new one", "1 networks, 1 addresses, 0 cgroups, 0 grants")
		a, _ := l.plane.Attachments(l.ctx)
		if a.Bound[addr] != p.pod.UID || a.Netns[0] != p.netns {
			l.Errorf("%+v", a)
		}
	})
}

// S4 and section 2.9: an address goes to another Pod once nobody has it, and no Pod
// inherits anything.
func TestAddressIsReused(t *testing.T) {
	inAgent(t, func(l *lab) {
		a := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, a.sb)
		b := l.pod("b", "10.1.0.1", nil)
		if l.PrepareSandbox(l.ctx, b.sb) {
			l.Error("two Pods have one address")
		}
		l.SandboxRemoved(l.ctx, a.sb)
		if !l.PrepareSandbox(l.ctx, b.sb) {
			l.Error("the address is free, and not b's")
		}
		a.delete()
		a.reconcile(1)
		got, _ := l.plane.Attachments(l.ctx)
		if got.Bound[netip.MustParseAddr("10.1.0.1")] != b.pod.UID {
			l.Errorf("a took it along: %v", got.Bound)
		}
	})
}

// S5: an event about a Pod that had the name before does not end the one that the cache
// has not seen yet, which the runtime has asked for.
func TestEventOfAPodOfBefore(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.behind = true
		l.PrepareSandbox(l.ctx, p.sb)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		p.reconcile(1)
		l.want("a late event", "1 networks, 1 addresses, 1 cgroups, 2 grants")
		l.cut = true
		if _, err := l.Reconcile(l.ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p.pod)}); err == nil {
			l.Error("nobody knows whether it is there, and it is no error")
		}
		l.want("nobody knows", "1 networks, 1 addresses, 1 cgroups, 2 grants")
		l.cut, l.behind = false, false
		p.delete()
		p.reconcile(1)
		l.want("gone", nothing)
	})
}

// I16: a Pod that was deleted before the runtime asks for it has no event any more, and is
// forgotten all the same once it has ended.
func TestDeletedBeforeItStarts(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		if err := l.kube.Delete(l.ctx, p.pod, client.GracePeriodSeconds(0)); err != nil {
			l.Error(err)
		}
		l.PrepareSandbox(l.ctx, p.sb)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		l.want("it starts", "1 networks, 1 addresses, 1 cgroups, 0 grants")
		l.clock.NewGroup(l.ctx).Go("run", func(ctx context.Context) { _ = l.Reconciler.Run(ctx) })
		_ = l.clock.Sleep(l.ctx, time.Minute)
		l.want("it runs", "1 networks, 0 addresses, 0 cgroups, 0 grants")
		l.kernel.RemoveCgroup(p.cgroup)
		_ = l.clock.Sleep(l.ctx, time.Minute)
		l.want("it has ended", nothing)
	})
}

// A Pod that was half forgotten is prepared again from the start.
func TestHalfForgotten(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		p.pod.Annotations = nil
		if err := l.kube.Update(l.ctx, p.pod); err != nil {
			l.Error(err)
		}
		p.reconcile(1)
		l.want("it takes part no more, and runs", "1 networks, 0 addresses, 0 cgroups, 0 grants")
		p.pod.Annotations = p.sb.Annotations
		if err := l.kube.Update(l.ctx, p.pod); err != nil {
			l.Error(err)
		}
		p.status(nil)
		p.reconcile(3)
		l.want("it does again", "1 networks, 1 addresses, 1 cgroups, 2 grants")
	})
}

// Section 2.5: another Pod of the same name, as of a StatefulSet.
func TestSameName(t *testing.T) {
	inAgent(t, func(l *lab) {
		a := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, a.sb)
		l.PrepareContainer(l.ctx, a.sb, a.c)
		a.delete()
		b := l.pod("a", "10.1.0.2", nil)
		l.PrepareSandbox(l.ctx, b.sb)
		if n := l.GetTrackedPodCount(); n != 2 {
			l.Errorf("%d are tracked", n)
		}
		b.reconcile(1)
		l.want("the second", "1 networks, 1 addresses, 0 cgroups, 0 grants")
		if n := l.GetTrackedPodCount(); n != 1 {
			l.Errorf("%d are tracked", n)
		}
	})
}

// Section 2.5, binding, I3 and S26: what each container may use.
func TestUses(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", func(p *corev1.Pod) {
			p.Spec.Containers[0].EnvFrom = nil
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "db-kloak"}, Key: "k"}}}}
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "other-kloak"}}
		})
		l.PrepareContainer(l.ctx, p.sb, p.c)
		l.want("one key", "0 networks, 0 addresses, 1 cgroups, 1 grants")
		p.pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "i"}}}
		if err := l.kube.(client.Client).SubResource("ephemeralcontainers").Update(l.ctx, p.pod); err != nil {
			l.Fatal(err)
		}
		p.create("debug-1")
		p.c.Name = "debug"
		l.PrepareContainer(l.ctx, p.sb, p.c)
		l.want("an ephemeral container that refers to nothing", "0 networks, 0 addresses, 2 cgroups, 1 grants")
	})
}

// S25 and section 3.5: programs that a container starts are hooked, now or a bit later,
// or by the scan if the event got lost.
func TestPrograms(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		group := l.clock.NewGroup(l.ctx)
		group.Go("run", func(ctx context.Context) { _ = l.Reconciler.Run(ctx) })
		l.failing["attach to executable"] = true
		l.kernel.Exec(l.kernel.Fork(p.cgroup, p.netns), "/tool")
		_ = l.clock.Sleep(l.ctx, 400*time.Millisecond)
		l.failing = map[string]bool{}
		_ = l.clock.Sleep(l.ctx, 200*time.Millisecond)
		if !l.hooked("tool") {
			l.Error("not hooked after half a second")
		}
		for range 2000 {
			l.kernel.Exec(p.pid, "/nothing")
		}
		_ = l.clock.Sleep(l.ctx, time.Minute)
		if n := count(l.calls, "read processes"); n < 1 || n > 3 {
			l.Errorf("%d scans", n)
		}
	})
}

// I16: a program whose container has ended meanwhile is not hooked: its process may be
// another's by now.
func TestProgramOfAContainerThatEnds(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		group := l.clock.NewGroup(l.ctx)
		group.Go("run", func(ctx context.Context) { _ = l.Reconciler.Run(ctx) })
		l.failing["attach to executable"] = true
		l.kernel.Exec(l.kernel.Fork(p.cgroup, p.netns), "/tool")
		_ = l.clock.Sleep(l.ctx, 100*time.Millisecond)
		p.status(func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "containerd://" + p.c.ID}}
		})
		p.reconcile(1)
		l.failing, l.calls = map[string]bool{}, nil
		_ = l.clock.Sleep(l.ctx, 10*time.Second)
		if n := count(l.calls, "attach to executable"); n != 0 || l.hooked("tool") {
			t.Errorf("tried %d times after the end", n)
		}
	})
}

// S20, I16 and section 3.8: an agent that starts again keeps what belongs to Pods, and
// ends the rest.
func TestRestart(t *testing.T) {
	inAgent(t, func(l *lab) {
		a, b := l.pod("a", "10.1.0.1", nil), l.pod("b", "10.1.0.2", nil)
		for _, p := range []*running{a, b} {
			l.PrepareSandbox(l.ctx, p.sb)
			l.PrepareContainer(l.ctx, p.sb, p.c)
			p.status(nil)
		}
		b.delete()
		l.restart()
		l.want("before it has looked", "2 networks, 2 addresses, 2 cgroups, 4 grants")
		if _, err := l.Reconcile(l.ctx, l.Controller().Start[0]); err != nil {
			l.Fatal(err)
		}
		l.want("after", "1 networks, 1 addresses, 1 cgroups, 2 grants")
		if _, err := l.Reconcile(l.ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "b"}}); err != nil {
			l.Fatal(err)
		}
		// Drift is repaired by the scan.
		group := l.clock.NewGroup(l.ctx)
		group.Go("run", func(ctx context.Context) { _ = l.Reconciler.Run(ctx) })
		l.kernel.Lose(a.netns)
		if err := l.plane.UntrackCgroup(l.ctx, a.cgroup); err != nil {
			l.Error(err)
		}
		_ = l.clock.Sleep(l.ctx, time.Minute)
		l.want("repaired", "1 networks, 1 addresses, 1 cgroups, 2 grants")
	})
}

// I5: a Pod that is deleted by force goes on for a while. It may use nothing any more, but
// its network stays attached until it has ended: a record may be on its way.
func TestDeletedByForce(t *testing.T) {
	inAgent(t, func(l *lab) {
		p := l.pod("a", "10.1.0.1", nil)
		l.PrepareSandbox(l.ctx, p.sb)
		l.PrepareContainer(l.ctx, p.sb, p.c)
		if err := l.kube.Delete(l.ctx, p.pod, client.GracePeriodSeconds(0)); err != nil {
			l.Error(err)
		}
		if !p.reconcile(3) {
			l.Error("it is not looked at again")
		}
		l.want("it runs yet", "1 networks, 0 addresses, 0 cgroups, 0 grants")
		l.kernel.RemoveCgroup(p.cgroup)
		if p.reconcile(1) {
			l.Error("it is looked at again")
		}
		l.want("it has ended", nothing)
	})
}

// What goes wrong while a Pod ends is tried again, and the order stays: grants first.
func TestForgetFails(t *testing.T) {
	for _, call := range []string{"set grants", "untrack cgroup", "unbind Pod", "detach from network namespace"} {
		inAgent(t, func(l *lab) {
			p := l.pod("a", "10.1.0.1", nil)
			l.PrepareSandbox(l.ctx, p.sb)
			l.PrepareContainer(l.ctx, p.sb, p.c)
			p.delete()
			l.failing[call] = true
			req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p.pod)}
			if _, err := l.Reconcile(l.ctx, req); err == nil {
				l.Errorf("%s fails, and there is no error", call)
			}
			delete(l.failing, call)
			if _, err := l.Reconcile(l.ctx, req); err != nil {
				l.Error(err)
			}
			l.want(call+" failed", nothing)
		})
	}
}

var _ node.Preparer = (*node.Reconciler)(nil)
