package encryption

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/fakes/kms"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// State is the system in one run.
type State struct {
	world     *scenarios.World
	config    Config
	resources []schema.GroupResource // that users write
	nodes     []*node
	byName    map[string]*node

	kubelets, operator client.Client
	observer           *apiserver.Server

	configs     map[string]state.State // that were ever brought to a node, by their hash
	inventories map[schema.GroupResource]*inventory

	history         history
	policy          policyView
	kms             management
	leaks           leaks.Index
	secrets         []string // that leaks knows, by name
	runs            map[schema.GroupResource]*seenRun
	uniform         map[schema.GroupResource]uniform
	breaches        map[string]error
	count           counts
	syncs           map[string]*syncs
	leadsSince      time.Duration
	leaderless      time.Duration     // when nobody led last, as far as properties have looked
	busy, differed  time.Duration     // when there was last something to do, and when API servers changed last
	blind           time.Duration     // when the controllers could last not tell what is encrypted
	watchesRest     bool              // somebody looks at busy
	backup          *apiserver.Backup // of etcd
	aggregatedStays bool              // as it is
	dropped         map[string]bool   // namespaces that are gone, with what is left in them
	mishap          mishap            // of agents
	numbers         map[string]int64  // the revisions that the hashes in configs are of
	leader          string            // the process that leads, as far as it knows
	leaderStart     int               // its incarnation
}

// System returns the system for registration.
func System() scenarios.System {
	definitions, err := fs.Sub(v1alpha1.CRDs, "crds")
	if err != nil {
		panic(err) // the name is a valid path
	}
	return scenarios.System{
		Name:        "encryption",
		Doc:         "Encryption at rest: keys that are made, rolled out to every API server, migrated to and pruned, while at no instant an API server meets data that it cannot read.",
		Config:      defaults(),
		Check:       scenarios.CheckWith(check),
		Processes:   scenarios.ProcessesWith(processes),
		AddToScheme: v1alpha1.AddToScheme,
		Definitions: definitions,
		Build:       scenarios.BuildWith(build),
		View:        scenarios.ViewOf(view),
		Steps:       steps(),
		Properties:  properties(),
	}
}

func check(c Config, shape scenarios.Cluster) error {
	switch {
	case !shape.NodeObjects:
		return &scenarios.ClusterError{Field: "nodeObjects",
			Err: errors.New("the controllers find API servers by the Node objects; write nodeObjects: true under cluster")}
	case shape.APIServers != shape.NodeCount():
		return &scenarios.ClusterError{Field: "apiServers",
			Err: fmt.Errorf("each node runs an API server; write apiServers: %d under cluster", shape.NodeCount())}
	case len(c.Resources) == 0:
		return errors.New("nothing is to be encrypted; write resources: [secrets]")
	}
	return nil
}

// processes names what build starts.
func processes(c Config, shape scenarios.Cluster) []string {
	var names []string
	nodes := shape.NodeNames()
	for _, n := range nodes {
		names = append(names, n+"/kube-apiserver", n+"/kms-health", n+"/agent")
		if c.Rollout == reloadMode {
			names = append(names, n+"/kms-plugins")
		}
	}
	for i := range c.Controllers {
		names = append(names, fmt.Sprintf("%s/controller-%d", nodes[i%len(nodes)], i))
	}
	if c.Aggregated {
		names = append(names, "aggregated")
	}
	return append(names, "users")
}

func build(w *scenarios.World, c Config) (*State, error) {
	s := &State{
		world: w, config: c, byName: map[string]*node{}, runs: map[schema.GroupResource]*seenRun{},
		uniform: map[schema.GroupResource]uniform{}, breaches: map[string]error{}, syncs: map[string]*syncs{},
		kms:     management{vaults: map[string]*kms.Vault{}, accepted: map[string]bool{}, faults: map[string]kms.Behaviour{}, brokenBy: map[string]int{}, deadSince: map[uint64]time.Duration{}, aliveAt: map[uint64]time.Duration{}},
		configs: map[string]state.State{}, inventories: map[schema.GroupResource]*inventory{}, numbers: map[string]int64{},
	}
	for _, r := range c.Resources {
		s.resources = append(s.resources, schema.ParseGroupResource(r))
	}
	s.observer = s.ghost("observer")
	kubelets := s.ghost("kubelets")
	scheme := w.Cluster.Store().Scheme()
	s.kubelets = apiclient.New(direct{state: s, choose: func() *apiserver.Server { return kubelets }}, scheme, apiclient.WithUserAgent("kubelet"), apiclient.WithoutManagedFields())
	s.operator = apiclient.New(direct{state: s, choose: s.answering}, scheme, apiclient.WithUserAgent("kubectl"), apiclient.WithoutManagedFields())
	if err := s.record(); err != nil {
		return nil, err
	}
	for i, n := range w.Cluster.Nodes() {
		s.addNode(n, w.Cluster.Instances()[i])
	}
	if err := s.furnish(); err != nil {
		return nil, err
	}
	if err := s.grant(w); err != nil {
		return nil, err
	}
	for _, gr := range s.resources {
		if err := s.take(gr); err != nil {
			return nil, err
		}
	}
	if err := s.watchSecrecy(); err != nil {
		return nil, err
	}
	s.plant()
	s.deploy()
	w.Engine().OnTouched(func() error { s.look(); return nil })
	return s, nil
}

// ghost is an API server that is no part of the cluster: it reads everything.
func (s *State) ghost(name string) *apiserver.Server {
	server := apiserver.NewServer(s.world.Cluster.Store(), name)
	server.SetGhost(func() *apiserver.Server {
		if as := s.answering(); as != nil {
			return as
		}
		return s.world.Instances()[0].Server()
	})
	return server
}

// addNode makes a machine a node of the control plane.
func (s *State) addNode(m *cluster.Node, instance *cluster.Instance) {
	n := &node{state: s, name: m.Name(), node: m, noticed: s.world.Engine().Stream("kubelet", m.Name()), wrote: map[string]bool{manifestPath: true}}
	s.must(bringTo(m.Disk(), manifestPath, []byte(installed)))
	n.server = &server{state: s, instance: instance}
	instance.Place(m)
	s.nodes, s.byName[n.name] = append(s.nodes, n), n
	var o corev1.Node
	s.must(s.kubelets.Get(background, client.ObjectKey{Name: n.name}, &o))
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	o.Labels[controlPlaneLabel] = ""
	s.must(s.kubelets.Update(background, &o))
}

// furnish makes the namespaces and the policy, which asks for nothing yet.
func (s *State) furnish() error {
	for _, name := range []string{Namespace, References, appNamespace} {
		if err := s.operator.Create(background, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	policy := &v1alpha1.EncryptionPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Spec.Rollout.Mode = v1alpha1.RolloutMode(s.config.Rollout)
	for _, gr := range s.resources {
		policy.Spec.Resources = append(policy.Spec.Resources, v1alpha1.Resource(gr))
	}
	if err := s.operator.Create(background, policy); err != nil {
		return fmt.Errorf("create the policy: %w", err)
	}
	return nil
}

// deploy starts the processes.
func (s *State) deploy() {
	for _, n := range s.nodes {
		n.createPod(manifest{})
		n.setReady(true)
		n.process = n.node.Process(cluster.ProcessSpec{Name: "kube-apiserver", Main: n.run, User: user(nodeUser + n.name), Restart: cluster.Restart{Delay: 5 * time.Second}})
		n.node.Process(cluster.ProcessSpec{Name: "kms-health", Main: n.runHealth, User: user(agentUser)})
		n.agent = n.node.Process(cluster.ProcessSpec{Name: "agent", Main: n.runAgent, User: user(agentUser), Restart: cluster.Restart{Delay: 5 * time.Second}})
		if s.config.Rollout == reloadMode {
			n.node.Process(cluster.ProcessSpec{Name: "kms-plugins", Main: n.runPlugins, User: user(nodeUser + n.name)})
		}
	}
	s.world.Cluster.Deploy(cluster.WorkloadSpec{
		Kind: cluster.Deployment, Name: "controller", Replicas: s.config.Controllers, Main: s.runController, User: user(controllersUser), Restart: leaderRestart,
	})
	if s.config.Aggregated {
		s.world.ControlPlane().Process(cluster.ProcessSpec{Name: "aggregated", Main: s.runAggregated, User: user("system:serviceaccount:aggregated:operator")})
	}
	s.world.ControlPlane().Process(cluster.ProcessSpec{Name: "users", Main: s.runUsers, User: user(appUser)})
}

// must panics: the script of the world failed.
func (s *State) must(err error) { s.world.Must(err) }

// tell puts a sentence into the story.
func (s *State) tell(object, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.shown("the story of "+object, text)
	s.world.Cluster.Narrate("sys", object, "tells", text)
}

func dist(s scenarios.Span) engine.Dist {
	if s.Max == s.Min {
		return engine.Constant(s.Min)
	}
	return engine.Dist{Min: s.Min, Max: s.Max}
}
