package cloak

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	switch {
	case w.config.Manner == "unknown-code":
		return rustls
	case w.config.Static:
		return linked
	}
	return libssl
}

// runPod starts the Pod of a workload, or ends one that has been deleted.
func (s *State) runPod(ctx context.Context, env *cluster.Env, group clock.Group, w *work) {
	if w.uid == "" {
		return // it was stopped, and is not there again yet
	}
	if w.gone {
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
	w.refs = referred(&p)
	s.lookUp(w)
	s.live(env, group, w, run)
	s.report(&p, w, run)
}

// begin starts a container in the sandbox that is there, if only the container has ended;
// or else a sandbox with one, in place of what was begun before.
func (w *work) begin(ctx context.Context, env *cluster.Env, pod nri.Pod) (*nri.Running, error) {
	run, ended := w.run, w.ended
	w.run, w.env, w.conn, w.ended, w.before, w.debug = nil, nil, nil, false, "", 0
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
// starts a container. It reports whether they are there, and the Pod is still.
func (s *State) furnished(ctx context.Context, env *cluster.Env, w *work, p *corev1.Pod) bool {
	for !w.gone {
		missing := slices.ContainsFunc(referred(p), func(r reference) bool {
			var secret corev1.Secret
			return s.world.Admin().Get(ctx, client.ObjectKey{Namespace: Namespace, Name: r.secret}, &secret) != nil
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

// reference is where a container has what a Secret holds: the use that its workload has for
// it, and the Secret, which is the shadow once the webhook has seen the Pod.
type reference struct {
	use, secret string
	volume      bool // it follows the Secret
}

// refer makes a Pod refer to a Secret.
func refer(spec *corev1.PodSpec, name, where string) {
	switch where {
	case "volume":
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}})
	case "projected":
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
		}}})
	default:
		spec.Containers[0].EnvFrom = append(spec.Containers[0].EnvFrom, corev1.EnvFromSource{
			Prefix: name + "_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		})
	}
}

// referred finds what a Pod refers to, as it was stored.
func referred(p *corev1.Pod) (refs []reference) {
	for _, from := range p.Spec.Containers[0].EnvFrom {
		refs = append(refs, reference{use: strings.TrimSuffix(from.Prefix, "_"), secret: from.SecretRef.Name})
	}
	for _, v := range p.Spec.Volumes {
		if v.Secret != nil {
			refs = append(refs, reference{v.Name, v.Secret.SecretName, true})
		}
		if v.Projected != nil && len(v.Projected.Sources) == 1 && v.Projected.Sources[0].Secret != nil {
			refs = append(refs, reference{v.Name, v.Projected.Sources[0].Secret.Name, true})
		}
	}
	return refs
}

// lookUp is what the kubelet puts into the container: what the Secrets hold that it refers
// to, in its environment once, in volumes again and again. Who refers to a Secret itself was
// admitted before it was protected, has its value, and is told of in an event.
func (s *State) lookUp(w *work) {
	fresh := w.env == nil
	if fresh {
		w.env, w.holds = map[string]string{}, false
	}
	for _, r := range w.refs {
		var secret corev1.Secret
		if !fresh && !r.volume || s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: r.secret}, &secret) != nil {
			continue // or deleted this moment
		}
		w.holds = w.holds || !shadow.Managed(&secret)
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			w.env[r.use+"_"+key] = string(secret.Data[key])
		}
	}
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
			s.lookUp(w)
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
