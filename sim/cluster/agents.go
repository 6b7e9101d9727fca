package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Agents asks for a scheduler and kubelets that look after all Pods of the API, not
// only those that stand for simulated processes: somebody outside may create a Pod and
// wants to see it run. They write to the store without latency, as the kubelet that
// keeps shadows does, and take virtual time for what they do.
type Agents struct {
	// PodsPerNode is how many Pods a node takes; zero means 110.
	PodsPerNode int
}

// How long the agents take. A Pod's image is on its node already.
const (
	scheduleTime = 10 * time.Millisecond
	startTime    = time.Second
	stopTime     = time.Second
)

var (
	podsResource   = corev1.SchemeGroupVersion.WithResource("pods")
	nodesResource  = corev1.SchemeGroupVersion.WithResource("nodes")
	eventsResource = corev1.SchemeGroupVersion.WithResource("events")
)

// agents is the scheduler and the kubelets of all nodes in one.
type agents struct {
	c      *Cluster
	server *apiserver.Server // their own, so that no other's end ends their watches
	pods   *apiserver.Watch
	nodes  *apiserver.Watch
	woken  bool

	known    map[types.NamespacedName]*podState
	waiting  []types.NamespacedName // for a node, in the order of arrival
	deferred []types.NamespacedName // no node fits; looked at again when something changes
	busy     bool                   // the scheduler has begun with the next of waiting

	machines []*machine // in the order of their registration
	byName   map[string]*machine
	ips      uint32
	events   uint64

	containers func(*corev1.Pod) *Container // of Pods that are processes
	boxes      []*box                       // in the order of their start
}

// podState is what the agents know about one Pod.
type podState struct {
	pod    *corev1.Pod
	charge charge // what it takes of its node
	start  engine.Timer
	kill   engine.Timer
	queued bool
}

// startAgents registers the watches; the Pods and nodes that exist come first.
func (c *Cluster) startAgents() {
	a := &agents{
		c: c, server: apiserver.NewServer(c.store, "agents"),
		known: map[types.NamespacedName]*podState{}, byName: map[string]*machine{},
	}
	c.agents = a
	a.nodes, a.pods = a.watch(nodesResource), a.watch(podsResource)
	a.nodes.OnReady(a.wake)
	a.pods.OnReady(a.wake)
}

func (a *agents) watch(r schema.GroupVersionResource) *apiserver.Watch {
	w, err := a.server.Watch(&apiserver.Request{Resource: r})
	a.must(err)
	return w
}

// wake runs within the write that made the event.
func (a *agents) wake() {
	if !a.woken {
		a.woken = true
		a.c.eng.After(0, func(any) { a.look() }, nil)
	}
}

// look takes over what has changed. Writes that it causes wake it again.
func (a *agents) look() {
	a.woken = false
	for {
		ev, ok := a.nodes.Next()
		if !ok {
			break
		}
		a.nodeChanged(ev)
	}
	for {
		ev, ok := a.pods.Next()
		if !ok {
			break
		}
		a.podChanged(ev)
	}
	a.schedule()
}

func (a *agents) podChanged(ev apiserver.Event) {
	p := ev.Object.(*corev1.Pod)
	key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if ev.Type == watch.Deleted {
		a.forget(key)
		return
	}
	s := a.known[key]
	if s != nil && s.pod.UID != p.UID {
		a.forget(key)
		s = nil
	}
	if s == nil {
		s = &podState{}
		a.known[key] = s
	}
	s.pod = p
	a.occupy(s)
	shadow := a.c.kubelet.shadows[key]
	switch {
	case p.DeletionTimestamp != nil && shadow != nil:
		a.retire(shadow)
	case p.DeletionTimestamp != nil:
		a.terminate(key, s)
	case shadow != nil:
	case p.Spec.NodeName == "":
		a.enqueue(key, s)
	case p.Status.Phase == corev1.PodPending && s.start == (engine.Timer{}) && a.runs(p):
		s.start = a.c.eng.After(startTime, func(any) { a.run(key) }, nil)
	default:
		a.report(key)
	}
}

// forget lets go of a Pod that is no more.
func (a *agents) forget(key types.NamespacedName) {
	s := a.known[key]
	if s == nil {
		return
	}
	s.start.Cancel()
	s.kill.Cancel()
	a.release(s)
	delete(a.known, key)
	a.abandon(s.pod.UID)
	a.reconsider()
}

// runs reports whether the Pod's node has a kubelet that hears.
func (a *agents) runs(p *corev1.Pod) bool {
	n := a.c.nodeByName[p.Spec.NodeName]
	return n != nil && n != a.c.control && !n.silent()
}

// do makes a request of one of the components that the agents stand for. That an
// object has gone or changed meanwhile is no news: the watch tells it as well. What
// else is refused, by a webhook for instance, is told in the trace.
func (a *agents) do(req *apiserver.Request) (*apiserver.Response, error) {
	resp, err := a.server.Do(req)
	switch {
	case err == nil && req.Verb.Write():
		a.c.wrote("", req, resp)
		a.c.eng.Touch()
	case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		verb, key := a.c.keys.verb(req), a.c.keys.of(req)
		a.c.emit("api", req.UserAgent, verb, key, code(err), verb+" "+key+" -> "+outcome(err))
	}
	return resp, err
}

// must panics: the store refused to be watched.
func (a *agents) must(err error) {
	if err != nil {
		panic("cluster: agents: " + err.Error())
	}
}
