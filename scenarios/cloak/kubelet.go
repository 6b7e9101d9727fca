package cloak

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/fakes/dns"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
	"github.com/seedbed-sim/seedbed/fakes/nri"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// Files with TLS code, and programs.
const (
	libssl kernel.File = "libssl.so.3"
	linked kernel.File = "app"
	rustls kernel.File = "rustls" // which nothing can be hooked to

	curl = "/usr/bin/curl"
)

// images of containers: a program that uses a shared TLS library, and one that has it
// linked in.
var (
	image       = kernel.Image{Libraries: []kernel.File{libssl}, Commands: map[string]kernel.File{}}
	staticImage = kernel.Image{Commands: map[string]kernel.File{"/app": linked}}
)

// code is the file with the TLS code of a workload.
func (w *work) code() kernel.File {
	if w.config.Static {
		return linked
	}
	return libssl
}

// runPod starts the Pod of a workload that is to run, or ends one that is not.
func (s *State) runPod(ctx context.Context, env *cluster.Env, group clock.Group, w *work) {
	if !w.wanted || w.gone {
		if l := s.config.Lingers; l != nil && env.Clock.Sleep(ctx, s.within(l)) != nil {
			return
		}
		if err := w.node.runtime.Stop(ctx, env.Clock, w.uid); err == nil {
			w.uid, w.run, w.env, w.conn, w.gone = "", nil, nil, nil, false
		}
		return
	}
	var p corev1.Pod
	if err := s.world.Admin().Get(ctx, client.ObjectKey{Namespace: Namespace, Name: w.config.Name}, &p); err != nil || p.UID != w.uid {
		w.gone = true // already; it is stopped when somebody looks for it
		return
	}
	if !s.furnished(ctx, env, w, &p) {
		return
	}
	pod := nri.Pod{
		UID: p.UID, Namespace: Namespace, Name: p.Name, Annotations: p.Annotations, Addr: w.addr, Container: "app", Args: []string{"/app"}, Image: image,
		HostNetwork: p.Spec.HostNetwork,
	}
	if w.config.Static {
		pod.Image = staticImage
	}
	run, err := w.begin(ctx, env, pod)
	if err != nil {
		return
	}
	w.run, w.resolver = run, dns.Resolver{}
	w.env, w.holds = s.environment(&p)
	s.live(env, group, w, run)
	s.report(&p, w, run)
}

// begin starts a container in the sandbox that is there, if only the container has ended;
// or else a sandbox with one, in place of what was begun before.
func (w *work) begin(ctx context.Context, env *cluster.Env, pod nri.Pod) (*nri.Running, error) {
	run, ended := w.run, w.ended
	w.run, w.conn, w.ended, w.before, w.debug = nil, nil, false, "", 0
	if ended && run != nil {
		w.before = run.Container.ID
		return run, w.node.runtime.Restart(ctx, env.Clock, run, pod)
	}
	if err := w.node.runtime.Stop(ctx, env.Clock, w.uid); err != nil {
		return nil, err
	}
	return w.node.runtime.Start(ctx, env.Clock, pod)
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
			if env.Clock.Sleep(ctx, s.pause()) != nil {
				return
			}
		}
	})
}

// pause is how long a workload waits.
func (s *State) pause() time.Duration {
	if s.config.Every != nil {
		return s.within(s.config.Every)
	}
	return time.Second + time.Duration(s.random.Intn(4000))*time.Millisecond
}
