package encryption

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// controlPlaneLabel marks the nodes that run an API server.
const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// node is a machine of the control plane: a kubelet, and the API server that it
// runs from a file.
type node struct {
	state  *State
	name   string
	node   *cluster.Node
	server *server

	process, agent *cluster.Process
	changed        clock.Signal // the manifest
	pluginsChanged clock.Signal // those of plugins
	noticed        *engine.Stream

	pod     *corev1.Pod // the mirror Pod as the kubelet wrote it last; nil for none
	running manifest    // of the API server
	plugins []*plugin   // that run on it

	wrote      map[string]bool // files of the agent
	images     []image         // of its disk, one for each revision
	ready      bool            // as the mirror Pod says
	draining   bool
	refused    string    // why the API server does not start
	identified time.Time // when its API server last said that it is there
	deaf       bool      // its API server never loads anything anew
}

func (n *node) podName() string { return "kube-apiserver-" + n.name }

// returned notes that a process of the node begins: who was away, and tells how the node
// is, may have something new to tell.
func (n *node) returned() { n.state.disturbed() }

// run is the main function of the process that stands for the kubelet's static Pod:
// it runs the API server of the manifest, and another when that changes.
func (n *node) run(ctx context.Context, env *cluster.Env) {
	n.returned()
	env.OnEnd(n.lost)
	n.changed = env.Clock.NewSignal()
	files := env.Disk()
	for first := env.Incarnation == 1; ctx.Err() == nil; first = false {
		m, err := readManifest(ctx, files, manifestPath)
		if err == nil {
			err = n.start(ctx, env, m, first)
		}
		if err != nil {
			n.refused = err.Error()
			env.Log.Info("The API server does not start", "why", err.Error())
			return // and again after the kubelet's back-off
		}
		n.refused = ""
		for same := true; same; {
			if n.probe(ctx, env) != nil {
				return
			}
			next, err := readManifest(ctx, files, manifestPath)
			same = err == nil && next.raw == m.raw
		}
		n.drain(ctx, env, m)
	}
}

// probe asks the API server whether it is ready until the manifest has changed, which
// is noticed a while later.
func (n *node) probe(ctx context.Context, env *cluster.Env) error {
	for {
		period := probeStarting
		if ready := n.server.instance.Readyz(n.running.exclude...) == nil; ready != n.ready {
			n.setReady(ready)
		}
		if n.showsIdentity() {
			n.identify()
		}
		if n.ready && !n.server.usesKMS() && !n.showsIdentity() {
			if err := n.changed.Wait(ctx); err != nil {
				return err
			}
			return env.Clock.Sleep(ctx, n.noticed.Duration(dist(n.state.config.Notice)))
		}
		if n.ready {
			period = probePeriod
		}
		wait, cancel := env.Clock.WithTimeout(ctx, period)
		err := n.changed.Wait(wait)
		cancel()
		switch {
		case err == nil:
			return env.Clock.Sleep(ctx, n.noticed.Duration(dist(n.state.config.Notice)))
		case ctx.Err() != nil:
			return err
		}
	}
}

// Times between two probes of a kubelet.
const (
	probeStarting = time.Second
	probePeriod   = 10 * time.Second
)

// start starts the API server and tells of it by the mirror Pod.
func (n *node) start(ctx context.Context, env *cluster.Env, m manifest, first bool) error {
	if first {
		return nil // it runs already
	}
	n.deletePod()
	n.createPod(m)
	if err := n.pass(ctx, env, m); err != nil {
		return err
	}
	if err := env.Clock.Sleep(ctx, n.noticed.Duration(dist(n.state.config.Boot))); err != nil {
		return err
	}
	n.running = m
	n.stopPlugins(beside)
	if err := n.startPlugins("", m); err != nil {
		return err
	}
	n.server.start(m, n.deaf)
	return nil
}

// drain lets the API server end: for a while it goes on answering, with what it
// has loaded, while its Pod is being deleted.
func (n *node) drain(ctx context.Context, env *cluster.Env, m manifest) {
	n.draining = true
	n.deletingPod()
	if m.early {
		n.stopPlugins(beside)
		if len(m.plugins) > 0 && n.server.usesKMS() {
			n.state.breaks(readable, fmt.Errorf("the API server on %s still answers, and its KMS plugins have ended: what they have sealed it cannot read any more", n.name))
		}
	}
	_ = env.Clock.Sleep(ctx, n.noticed.Duration(dist(n.state.config.Drain))) // what is left of it ends with the process
	n.server.stop()
	n.stopPlugins(beside)
	n.draining = false
	n.deletePod()
}

// lost runs when the process has ended, be it with its node.
func (n *node) lost() {
	n.server.stop()
	n.stopPlugins(beside)
	n.draining = false
	if !n.node.Down() {
		n.setReady(false)
		return
	}
	pod := n.pod
	n.state.world.Engine().After(nodeGrace, func(any) { // the control plane notices
		if n.node.Down() && n.pod == pod {
			n.setReady(false)
		}
	}, nil)
}

// nodeGrace is how long a node may be silent before its Pods count as not ready.
const nodeGrace = 50 * time.Second

// Pods are written as kubelets write them, without latency.

func (n *node) createPod(m manifest) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: serverNamespace, Name: n.podName(), Labels: map[string]string{"component": "kube-apiserver"},
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "static"},
		},
		Spec: corev1.PodSpec{NodeName: n.name, Containers: []corev1.Container{{Name: "kube-apiserver", Image: "registry.k8s.io/kube-apiserver"}}},
	}
	if m.revision > 0 {
		pod.Labels[deployer.RevisionLabel] = strconv.FormatInt(m.revision, 10)
	}
	n.state.must(n.state.kubelets.Create(background, pod))
	n.pod = pod
	n.setReady(false)
}

// setReady lets the kubelet say whether the API server is ready, which controllers and
// agents act on.
func (n *node) setReady(ready bool) {
	n.state.disturbed()
	if n.ready = ready; n.pod == nil {
		return
	}
	pod := &corev1.Pod{}
	err := n.state.kubelets.Get(background, client.ObjectKeyFromObject(n.pod), pod)
	if apierrors.IsNotFound(err) {
		return
	}
	n.state.must(err)
	status := corev1.ConditionFalse
	pod.Status.Phase = corev1.PodPending
	if ready {
		status, pod.Status.Phase = corev1.ConditionTrue, corev1.PodRunning
	} else if n.server.answers() {
		pod.Status.Phase = corev1.PodRunning
	}
	now := metav1.NewTime(n.state.world.Engine().Now())
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: now}}
	n.state.must(n.state.kubelets.Status().Update(background, pod))
}

func (n *node) deletingPod() {
	n.state.must(client.IgnoreNotFound(n.state.kubelets.Delete(background, n.pod, client.GracePeriodSeconds(135))))
}

func (n *node) deletePod() {
	if n.pod == nil {
		return
	}
	err := n.state.kubelets.Delete(background, n.pod, &client.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
	n.state.must(client.IgnoreNotFound(err))
	n.pod = nil
}

var background = context.Background()
