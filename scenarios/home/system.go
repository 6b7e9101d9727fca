package home

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
)

// State is the system in one run.
type State struct {
	world  *scenarios.World
	config Config

	slots []*slot
	pods  map[string]*grantPod // by UID, all that there have been
	lives []*life              // all, in the order of their start
	last  map[string]*corev1.Pod

	controller controller
	devices    devices
	served     string // the version of resource.k8s.io that is served; empty: none
	drops      int    // files that somebody has put into a grants directory

	leaks    leaks.Index
	breaches map[string]error
}

// slot is a name of a Pod, and where Pods of that name run.
type slot struct {
	name, node  string
	generation  int
	pod         *grantPod // the latest
	all         []*grantPod
	replacement bool // is to be made when the Pod is gone
	flaps       []flap
	ambush      func() // runs before the next read of a claim
	surprise    func() // runs when the next round holds its answer
}

// System returns the system for registration.
func System() scenarios.System {
	return scenarios.System{
		Name:       "home",
		Doc:        "The homes of grant Pods: grants fetched and renewed, health, readiness, scope and its loss, while the cluster misbehaves.",
		Config:     defaults(),
		Check:      scenarios.CheckWith(check),
		Processes:  scenarios.ProcessesWith(processes),
		Build:      scenarios.BuildWith(build),
		View:       scenarios.ViewOf(view),
		Steps:      steps(),
		Properties: properties(),
	}
}

func build(w *scenarios.World, c Config) (*State, error) {
	s := &State{
		world: w, config: c, pods: map[string]*grantPod{}, last: map[string]*corev1.Pod{},
		controller: controller{owners: map[string]*grantPod{}}, breaches: map[string]error{},
	}
	s.serve(c.Serve)
	s.controller.start(s)
	if err := s.furnish(); err != nil {
		return nil, err
	}
	if err := s.record(); err != nil {
		return nil, err
	}
	w.Cluster.RunPods(s.container)
	nodes := w.Cluster.Nodes()
	for i := range c.Pods {
		sl := &slot{name: podName(i), node: nodes[i%len(nodes)].Name()}
		s.slots = append(s.slots, sl)
		if err := s.createPod(sl); err != nil {
			return nil, err
		}
	}
	s.tick()
	return s, nil
}

// furnish makes what must be there before any Pod.
func (s *State) furnish() error {
	if err := s.world.Admin().Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}); err != nil {
		return fmt.Errorf("make namespace %s: %w", Namespace, err)
	}
	return allow(s.world)
}

// tickEvery is how often the homes are looked at when nothing happens.
const tickEvery = time.Second

// tick looks at every home that runs, as a caller does who wants a worker.
func (s *State) tick() {
	for _, l := range s.lives {
		if l.watched() {
			l.look()
		}
	}
	s.world.Engine().After(tickEvery, func(any) { s.tick() }, nil)
}

// slotOf returns the slot of a Pod's name, or nil.
func (s *State) slotOf(name string) *slot {
	for _, sl := range s.slots {
		if sl.name == name {
			return sl
		}
	}
	return nil
}

// controller is the issuer, where the control plane runs.
type controller struct {
	issuer  *issuer.Issuer
	down    bool
	silent  bool
	latency scenarios.Span
	tokens  int
	owners  map[string]*grantPod // of tokens
}
