package cluster

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// Cluster is one simulated cluster during one run. It is used on one goroutine.
type Cluster struct {
	cfg       Config
	eng       *engine.Engine
	store     *apiserver.Store
	instances []*Instance
	admin     client.Client

	nodes         []*Node
	nodeByName    map[string]*Node
	control       *Node
	processes     []*Process
	processByName map[string]*Process
	kubelet       kubelet
	workloads     []*Workload
	visitors      []*Visitor
	agents        *agents // nil without Config.Agents

	faults    faults
	net       *network.Network
	cuts      map[link]int
	bad       []*Fault // network faults in force
	spoilt    []*diskFault
	kinds     map[reflect.Type]*kind
	lists     map[reflect.Type]*kind
	rawKinds  map[schema.GroupVersionKind]*kind
	keys      *keyTable
	full      bool       // the trace keeps its records
	notes     bool       // and notes
	chronicle *chronicle // nil unless the trace keeps notes
	written   []Write
	contests  map[string]*contest // by key; nil until a fault looks for races
	freeReq   *request
	freeDel   *delivery
	spareDel  int

	serving  *Process // whose request an API server carries out right now
	refusals []Refusal
}

// New builds a cluster at virtual time zero. Nothing has happened yet; add
// processes, then Run.
func New(cfg Config) *Cluster {
	cfg = cfg.withDefaults()
	var c *Cluster
	if cfg.Engine.Excused == nil {
		cfg.Engine.Excused = func() bool { return c.troubled() }
	}
	eng := engine.New(cfg.Engine)
	api := cfg.API
	api.Clock, api.Entropy, api.Scheme = trueClock{eng}, eng.Entropy("apiserver"), cfg.Scheme
	api.Refused = func(a *authz.Attributes) { c.refused(a) }
	c = &Cluster{
		cfg: cfg, eng: eng, store: apiserver.NewStore(api),
		nodeByName:    make(map[string]*Node, cfg.Nodes+1),
		processByName: map[string]*Process{},
		kinds:         map[reflect.Type]*kind{},
		lists:         map[reflect.Type]*kind{},
		rawKinds:      map[schema.GroupVersionKind]*kind{},
		keys:          newKeyTable(),
		full:          cfg.Engine.Trace >= engine.TraceFull,
		notes:         cfg.Engine.Trace == engine.TraceNotes,
	}
	for _, k := range cfg.Kinds {
		if err := c.store.Register(k); err != nil {
			panic("cluster: " + err.Error())
		}
	}
	c.net = network.New(eng, cfg.Network)
	c.control = c.addNode("control-plane")
	c.nodes = c.nodes[:0]
	for i := range cfg.APIServers {
		name := "apiserver-" + strconv.Itoa(i)
		c.instances = append(c.instances, &Instance{
			cluster: c, name: name, node: c.control, server: apiserver.NewServer(c.store, name),
		})
	}
	c.admin = apiclient.New(&touching{Server: c.ghost(), cluster: c}, cfg.Scheme, c.clientOptions()...)
	for i := range cfg.Nodes {
		c.addNode("node-" + strconv.Itoa(i+1))
	}
	c.kubelet.c = c
	if cfg.Agents != nil {
		c.startAgents()
	}
	for _, n := range c.nodes {
		if cfg.NodeObjects {
			c.kubelet.register(n)
		}
	}
	c.begin(cfg.Profile)
	c.startControllers()
	c.startChronicle()
	return c
}

func (c *Cluster) addNode(name string) *Node {
	if c.nodeByName[name] != nil {
		panic("cluster: two nodes named " + name)
	}
	n := &Node{cluster: c, name: name, index: len(c.nodes)}
	c.nodes = append(c.nodes, n)
	c.nodeByName[name] = n
	return n
}

// AddNode lets one more node join, with its copy of each DaemonSet.
func (c *Cluster) AddNode(name string) *Node {
	n := c.addNode(name)
	if c.cfg.NodeObjects {
		c.kubelet.register(n)
	}
	for _, w := range c.workloads {
		if w.spec.Kind == DaemonSet && match(w.spec.OnlyOn, name) {
			w.add(n, n.index)
		}
	}
	return n
}

// Engine is the deterministic engine below the cluster.
func (c *Cluster) Engine() *engine.Engine { return c.eng }

// Store is the etcd of the cluster.
func (c *Cluster) Store() *apiserver.Store { return c.store }

// Instances returns the API servers.
func (c *Cluster) Instances() []*Instance { return c.instances }

// Admin is an API client without latency, faults or limits: for set-up, for the
// driver of a scenario and for properties. It reads and writes the store itself, also
// what is sealed; it seals as the first API server does that is up.
func (c *Cluster) Admin() client.Client { return c.admin }

// Nodes returns the nodes in order, without the control plane's machine.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Node returns the node of that name, or nil. "control-plane" is the machine of
// the API servers and of the processes that belong to no node.
func (c *Cluster) Node(name string) *Node { return c.nodeByName[name] }

// ControlPlane is the machine on which controllers run.
func (c *Cluster) ControlPlane() *Node { return c.control }

// Processes returns all processes in the order in which they were added.
func (c *Cluster) Processes() []*Process { return c.processes }

// Process returns the process of that name, or nil.
func (c *Cluster) Process(name string) *Process { return c.processByName[name] }

// Story puts a line of narration into the trace.
func (c *Cluster) Story(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.emit("story", "", "says", text, 0, text)
}

// Run runs the cluster on the calling goroutine until its horizon, a failure,
// Stop, or until nothing is left to happen.
func (c *Cluster) Run() engine.Result { return c.eng.Run() }

// Close ends all tasks. It reports a task that does not end.
func (c *Cluster) Close() error { return c.eng.Close() }

// Narrate puts an event of the driver of a run into the trace.
func (c *Cluster) Narrate(kind, actor, verb, detail string) {
	c.emit(kind, actor, verb, "", 0, detail)
}

// CeaseAt is the virtual time at which all faults end, or zero.
func (c *Cluster) CeaseAt() time.Duration { return c.cfg.Profile.CeaseAt }
