package cloak

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	"github.com/seedbed-sim/seedbed/fakes/nri"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// within draws from a span, in hundredths of it.
func (s *State) within(span *scenarios.Span) time.Duration {
	return span.Min + (span.Max-span.Min)*time.Duration(s.random.Intn(101))/100
}

// runPod starts the Pod of a workload that is to run, or ends one that is not.
func (s *State) runPod(ctx context.Context, env *cluster.Env, group clock.Group, w *work) {
	if !w.wanted || w.gone {
		if l := s.config.Lingers; l != nil && env.Clock.Sleep(ctx, s.within(l)) != nil {
			return
		}
		if err := w.node.runtime.Stop(ctx, env.Clock, w.uid); err == nil {
			w.uid, w.run, w.env, w.gone = "", nil, nil, false
		}
		return
	}
	var p corev1.Pod
	if err := s.world.Admin().Get(ctx, client.ObjectKey{Namespace: Namespace, Name: w.config.Name}, &p); err != nil || p.UID != w.uid {
		w.gone = true // already; it is stopped when somebody looks for it
		return
	}
	pod := nri.Pod{
		UID: p.UID, Namespace: Namespace, Name: p.Name, Annotations: p.Annotations, Addr: w.addr, Container: "app", Args: []string{"/app"}, Image: image,
	}
	if !s.furnished(ctx, env, w, &p) {
		return
	}
	run, err := w.begin(ctx, env, pod)
	if err != nil {
		return
	}
	w.run = run
	w.env, w.holds = s.environment(&p)
	s.live(env, group, w, run)
	s.report(&p, w, run)
}

// furnished waits for the Secrets that a Pod refers to, as the kubelet does before it
// starts a container. It reports whether they are there, and the Pod is still wanted.
func (s *State) furnished(ctx context.Context, env *cluster.Env, w *work, p *corev1.Pod) bool {
	for w.wanted && !w.gone {
		missing := slices.ContainsFunc(p.Spec.Containers[0].EnvFrom, func(from corev1.EnvFromSource) bool {
			var secret corev1.Secret
			return s.world.Admin().Get(ctx, client.ObjectKey{Namespace: Namespace, Name: from.SecretRef.Name}, &secret) != nil
		})
		if !missing {
			return true
		}
		if env.Clock.Sleep(ctx, time.Second) != nil {
			return false
		}
	}
	w.again = true
	return false
}

// begin starts a container in the sandbox that is there, if only the container has ended;
// or else a sandbox with one, in place of what was begun before.
func (w *work) begin(ctx context.Context, env *cluster.Env, pod nri.Pod) (*nri.Running, error) {
	run, ended := w.run, w.ended
	w.run, w.ended, w.before = nil, false, ""
	if ended && run != nil {
		w.before = run.Container.ID
		return run, w.node.runtime.Restart(ctx, env.Clock, run, pod)
	}
	if err := w.node.runtime.Stop(ctx, env.Clock, w.uid); err != nil {
		return nil, err
	}
	return w.node.runtime.Start(ctx, env.Clock, pod)
}

// environment is what the kubelet puts into the container: what the Secrets that the Pod
// refers to hold. Holds is whether one of them is no shadow: then the Pod was admitted
// before the Secret was protected, has its value, and is told of in an event.
func (s *State) environment(p *corev1.Pod) (out map[string]string, holds bool) {
	out = map[string]string{}
	for _, from := range p.Spec.Containers[0].EnvFrom {
		var secret corev1.Secret
		if err := s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: from.SecretRef.Name}, &secret); err != nil {
			continue // deleted this moment
		}
		holds = holds || !shadow.Managed(&secret)
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			out[from.Prefix+key] = string(secret.Data[key])
		}
	}
	return out, holds
}

// report writes the status of a Pod that runs.
func (s *State) report(p *corev1.Pod, w *work, run *nri.Running) {
	p.Status.Phase = corev1.PodRunning
	p.Status.PodIP, p.Status.PodIPs = w.addr.String(), []corev1.PodIP{{IP: w.addr.String()}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ContainerID: "containerd://" + run.Container.ID, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	if w.before != "" {
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: "containerd://" + w.before}
	}
	// Deleted meanwhile, it has no status.
	if err := client.IgnoreNotFound(s.world.Admin().Status().Update(context.Background(), p)); err != nil {
		s.breaks(valuesArrive, fmt.Errorf("the status of Pod %s cannot be written: %w", p.Name, err))
	}
}

// live runs the workload's program: it sends its placeholders, waits, and does it again.
func (s *State) live(env *cluster.Env, group clock.Group, w *work, run *nri.Running) {
	pid := run.PID
	group.Go("app "+w.config.Name, func(ctx context.Context) {
		for w.run == run && run.PID == pid {
			if !w.holds { // what has the values sends them wherever it likes
				s.exchange(ctx, env, w, run)
			}
			if env.Clock.Sleep(ctx, time.Second+time.Duration(s.random.Intn(4000))*time.Millisecond) != nil {
				return
			}
		}
	})
}

// exchange is one connection: a name is resolved, a request written, and its segments
// leave in any pieces, some of them twice.
func (s *State) exchange(ctx context.Context, env *cluster.Env, w *work, run *nri.Running) {
	s.lookInside(w)
	to, err := s.resolve(w, run.PID)
	if err != nil {
		w.unresolved++
		return
	}
	x := &exchange{work: w, uid: w.uid, host: w.config.Host, port: portOf(w.config)}
	d := kernel.Dial{
		PID: run.PID, Destination: netip.AddrPortFrom(to, uint16(x.port)), ServerName: w.config.Host, Suite: kernel.AESGCM, Sequence: uint32(s.random.Intn(1 << 20)),
	}
	if w.config.SNI != "" {
		d.ServerName, x.host = w.config.SNI, w.config.SNI // the server shows the host that is named
	}
	copy(d.Master[:], fmt.Appendf(nil, "%s %d", w.config.Name, w.exchanges))
	socket, err := w.node.kernel.Connect(d)
	if err != nil {
		w.unresolved++
		return
	}
	defer socket.Close()
	peer, err := kernel.NewPeer(d.Master)
	if err != nil {
		s.breaks(recordsStayWhole, err)
		return
	}
	x.socket, x.peer, x.tap, x.text = socket, peer, mustPeer(d.Master), s.request(w)
	x.views = slices.Clone(w.node.views)
	x.end, err = socket.Write(run.PID, libssl, []byte(x.text))
	if err != nil {
		return // the process is gone
	}
	w.exchanges++
	for x.una < x.end {
		if !s.segment(x) {
			return // the Pod has ended
		}
		if s.unlucky(4) && env.Clock.Sleep(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
	s.judge(x)
}

func mustPeer(master [16]byte) *kernel.Peer {
	p, err := kernel.NewPeer(master)
	if err != nil {
		panic("cloak: " + err.Error()) // 16 bytes are a key
	}
	return p
}

// request is what a workload writes: each placeholder that it has, and those that it has
// learnt.
func (s *State) request(w *work) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST /%d HTTP/1.1\r\nHost: %s\r\n", w.exchanges, w.config.Host)
	for _, use := range w.config.Uses {
		fmt.Fprintf(&b, "X-%s: Bearer %s\r\n", use, w.env[use+"_k"])
	}
	for _, name := range w.config.Steal {
		fmt.Fprintf(&b, "Y-%s: %s\r\n", name, s.placeholderOf(name))
	}
	b.WriteString("\r\n" + strings.Repeat("body ", s.random.Intn(60)))
	return b.String()
}

// placeholderOf is what anybody may read in a shadow.
func (s *State) placeholderOf(name string) string {
	var secret corev1.Secret
	if err := s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: name + "-kloak"}, &secret); err != nil {
		return ""
	}
	return string(secret.Data["k"])
}

// unlucky draws whether something happens that does once in n times. Zero is luck: that
// is where shrinking goes.
func (s *State) unlucky(n int) bool { return s.random.Intn(n) == n-1 }

// segment lets the next bytes leave, or some that have left before, or some that get
// lost. It reports whether the connection is still there.
func (s *State) segment(x *exchange) bool {
	from := x.una
	again := s.unlucky(4)
	if again {
		from = s.random.Intn(x.una + 1)
	}
	to := from + 1 + s.random.Intn(min(x.end-from, 200))
	inside, wire := x.socket.Leave(from, to)
	if wire == nil {
		return false
	}
	if !again && !s.unlucky(8) {
		s.watch(x, inside)
		s.receive(x, wire)
		x.una = to
		x.socket.Acked(to)
	}
	return true
}

func portOf(c PodConfig) int {
	if c.Port == 0 {
		return 443
	}
	return c.Port
}
