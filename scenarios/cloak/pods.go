package cloak

import (
	"context"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/fakes/dns"
	"github.com/seedbed-sim/seedbed/fakes/nri"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// work is a workload: a Pod that is to be there.
type work struct {
	config PodConfig
	node   *node
	addr   netip.Addr
	wanted bool
	gone   bool   // the Pod is, and is to be made again
	ended  bool   // its container has, and is to be started again
	before string // the id of the container that had ended before this one
	busy   bool   // the runtime is at it
	again  bool   // and is to look at it once more

	uid      types.UID    // of the Pod that there is, if any
	unsure   bool         // whether there is one: its creation is under way, or has lost its answer
	run      *nri.Running // once it has started
	refs     []reference
	env      map[string]string // what its container has, by the uses and keys of Secrets
	resolver dns.Resolver
	conn     *connection // that is kept
	debug    int         // the process of a debug container
	holds    bool        // values, since it was admitted before they were protected
	refused  int         // creations

	// What has become of what it sent.
	exchanges  int // all
	arrived    int // with all values in place
	inARow     int // of those, the latest
	withheld   int // with a placeholder left
	unresolved int
	unreached  int // connections that have found no server
	sessions   int
}

// retryWorkload is how often a Pod that is not there is made again.
const retryWorkload = 2 * time.Second

// runWorkloads is the main function of the process that makes Pods and deletes them, as
// controllers of workloads do. It begins when the agents have had time to start: no promise
// is made to Pods that are there before them.
func (s *State) runWorkloads(ctx context.Context, env *cluster.Env) {
	for {
		if env.Clock.Sleep(ctx, retryWorkload) != nil {
			return
		}
		for _, w := range s.works {
			switch {
			case w.wanted && w.uid == "":
				s.createPod(ctx, env, w)
			case !w.wanted && (w.uid != "" || w.unsure):
				s.deletePod(ctx, env, w)
			case w.uid != "":
				s.lookForPod(ctx, env, w)
			}
		}
	}
}

func (s *State) createPod(ctx context.Context, env *cluster.Env, w *work) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: w.config.Name},
		Spec: corev1.PodSpec{
			NodeName: w.node.name, Containers: []corev1.Container{{Name: "app", Image: "app"}}, HostNetwork: w.config.Manner == "host-network",
		},
	}
	if w.config.Plain {
		p.Labels = map[string]string{cloak.AnnotationEnabled: "false"}
	}
	for _, use := range w.config.Uses {
		refer(&p.Spec, use, w.config.Refers)
	}
	unsure := w.unsure // a refusal says nothing of a creation before it: admission comes first
	w.unsure = true
	err := env.Kube.Create(ctx, p)
	if apierrors.IsAlreadyExists(err) {
		// The answer to an earlier creation was lost.
		err = env.Kube.Get(ctx, client.ObjectKeyFromObject(p), p)
	}
	if err != nil {
		w.unsure = unsure || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
		w.refused++
		return
	}
	w.uid, w.unsure = p.UID, false
	w.node.enqueue(w)
}

func (s *State) deletePod(ctx context.Context, env *cluster.Env, w *work) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: w.config.Name}}
	if err := env.Kube.Delete(ctx, p, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		return
	}
	w.gone, w.unsure = w.uid != "", false
	w.node.enqueue(w)
}

// lookForPod finds out whether a Pod has gone though it is wanted: the answer to its
// deletion may have been lost before somebody wanted it again.
func (s *State) lookForPod(ctx context.Context, env *cluster.Env, w *work) {
	var p corev1.Pod
	err := env.Kube.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: w.config.Name}, &p)
	if apierrors.IsNotFound(err) || err == nil && p.UID != w.uid {
		w.gone = true
		w.node.enqueue(w)
	}
}

// booted makes a node forget what was in its memory, if it has lost its power since it was
// asked last. The kubelet makes new sandboxes for its Pods then.
func (s *State) booted(n *node) {
	boots := s.world.Cluster.Node(n.name).Boots()
	if boots == n.boots {
		return
	}
	n.boots = boots
	n.kernel.Reboot()
	n.runtime.PowerLoss()
	n.queue, n.views = nil, nil
	for _, w := range s.works {
		if w.node == n {
			w.run, w.env, w.conn = nil, nil, nil
		}
	}
}

// enqueue lets the node's runtime look at a workload.
func (n *node) enqueue(w *work) {
	if !slices.Contains(n.queue, w) {
		n.queue = append(n.queue, w)
	}
	if n.due != nil {
		n.due()
	}
}

// runRuntime is the main function of a node's runtime and kubelet. Pods outlive it.
func (s *State) runRuntime(ctx context.Context, env *cluster.Env) {
	n := s.byName[env.Node]
	due := env.Clock.NewSignal()
	n.due = due.Send
	env.OnEnd(func() { n.due = nil; n.runtime.HangUp() })
	s.booted(n)
	group := env.Clock.NewGroup(ctx)
	for _, w := range s.works {
		if w.node == n {
			w.busy, w.again = false, false
		}
		// What a runtime of before had begun, or what it ran.
		if w.node == n && w.uid != "" {
			if w.run == nil {
				n.enqueue(w)
			} else {
				s.live(env, group, w, w.run)
			}
		}
	}
	for {
		for len(n.queue) > 0 {
			w := n.queue[0]
			n.queue = n.queue[1:]
			if w.again = w.busy; w.busy {
				continue
			}
			w.busy = true
			group.Go("pod", func(ctx context.Context) {
				s.runPod(ctx, env, group, w)
				if w.busy = false; w.again {
					n.enqueue(w)
				}
			})
		}
		if due.Wait(ctx) != nil {
			return
		}
	}
}
