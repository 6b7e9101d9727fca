package serve

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// World is what a served cluster is made of. It opens a journal, so that the same
// cluster can be built again.
type World struct {
	// Seed decides everything that is left to chance.
	Seed uint64 `json:"seed"`

	// Start is the clock of the cluster at the beginning.
	Start time.Time `json:"start"`

	// Nodes is how many nodes an empty cluster has. A scenario has its own.
	Nodes int `json:"nodes,omitempty"`

	// Pods is how many Pods there are from the start, in the namespace load.
	Pods int `json:"pods,omitempty"`

	// Bare leaves out what stands around the API server: nothing schedules Pods,
	// runs them or looks after objects.
	Bare bool `json:"bare,omitempty"`

	// Path and Scenario are the scenario file and its text, if there is one.
	Path     string `json:"path,omitempty"`
	Scenario string `json:"scenario,omitempty"`
}

// Opened is an open world.
type Opened struct {
	*sim.World
	file *scenarios.File // nil without a scenario
}

// Open builds the cluster; the trace goes to sink.
func (w *World) Open(r *scenarios.Registry, sink func(engine.Record)) (*Opened, error) {
	if w.Scenario == "" {
		options := sim.Options{Name: "an empty cluster", Cluster: cluster.Config{Nodes: w.Nodes}}
		w.adjust(&options, sink)
		options.Cluster.API.RBAC = true // a scenario says so itself
		open, err := sim.Open(options, w.Seed, w.furnish)
		if err != nil {
			return nil, err
		}
		return &Opened{World: open}, nil
	}
	file, err := r.Parse(w.Path, []byte(w.Scenario))
	if err != nil {
		return nil, err
	}
	open, err := r.Open(file, w.Seed, func(o *sim.Options) { w.adjust(o, sink) }, w.furnish)
	if err != nil {
		return nil, err
	}
	return &Opened{World: open, file: file}, nil
}

// adjust makes a cluster one that is served.
func (w *World) adjust(o *sim.Options, sink func(engine.Record)) {
	c := &o.Cluster
	c.NodeObjects = true
	c.API.DefaultRoles = true // clients that impersonate somebody rely on them
	c.API.Logs = noLogs
	c.Engine.Start, c.Engine.Sink = w.Start, sink
	o.Horizon = math.MaxInt64
	if !w.Bare {
		// As many as there are, and the usual number besides.
		c.Agents = &cluster.Agents{PodsPerNode: podsPerNode + w.Pods/max(1, c.Nodes)}
		c.Controllers = []string{"*"}
	}
}

// podsPerNode is what a kubelet takes unless it is told otherwise.
const podsPerNode = 110

// LoadNamespace is where World.Pods are.
const LoadNamespace = "load"

// fill creates Pods, spread over the nodes; the kubelets start them.
func (w *World) fill(s *sim.World) {
	s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: LoadNamespace}})
	server, nodes := s.Instances()[0].Server(), s.Nodes()
	var work apiserver.Work
	for i := range w.Pods {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: LoadNamespace, Name: fmt.Sprintf("load-%05d", i), Labels: map[string]string{"app": "load"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/load:1"}}},
		}
		if len(nodes) > 0 {
			p.Spec.NodeName = nodes[i%len(nodes)].Name()
		}
		_, err := server.DoIn(&work, &apiserver.Request{
			Verb: apiserver.Create, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: LoadNamespace,
			Object: p, Owned: true, Shared: true, UserAgent: "seedbed",
		})
		s.Must(err)
	}
}
