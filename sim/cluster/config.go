package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/disk"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// Config says what a cluster consists of before anything happens in it. The
// zero value of every field but Engine.Source has a useful meaning.
type Config struct {
	// Engine configures the run: where choices come from, when it ends. Waits are
	// excused while faults are active, links are cut or an API server is down or
	// stale, unless Engine.Excused says otherwise.
	Engine engine.Config

	// Nodes is how many nodes there are: "node-1", "node-2", …
	Nodes int

	// NodeObjects registers the nodes with the API server as Node objects.
	NodeObjects bool

	// Agents, if set, lets Pods that nobody in the simulation has made get a node,
	// run, and end. It registers the nodes, as NodeObjects does.
	Agents *Agents

	// APIServers is how many API servers share the store; zero means one.
	APIServers int

	// Scheme knows the Go types of kinds; nil means client-go's.
	Scheme *runtime.Scheme

	// Kinds are custom resources that the API servers serve from the start.
	Kinds []apiserver.KindInfo

	// Controllers are those of kube-controller-manager that run, as the process
	// "kube-controller-manager" on the control plane: the names of
	// controllermanager.Controllers, "*" for all, "-name" for all but one. They
	// have informers, work queues and an API path like any process, crash and
	// restart like one, and see no more than their watches show them. Without them
	// nothing is collected, and no deleted namespace ever goes.
	Controllers []string

	// ManagedFields lets processes and the test see metadata.managedFields, as in a
	// real cluster. Without it they see objects as if informers and clients had the
	// transform cache.TransformStripManagedFields: runs are much faster then, and
	// conflicts of server-side apply are found all the same.
	ManagedFields bool

	// API passes further options to the API server's store. Clock, Entropy, Scheme
	// and Refused are set here: with RBAC, [Cluster.Refusals] tells what processes
	// were not allowed to do.
	API apiserver.Options

	// Latency of one way between a process and an API server.
	Latency engine.Dist

	// Network is the quality of the links between machines.
	Network network.Quality

	// Disk is the quality of the nodes' disks. Zero means [disk.Harsh]: when a
	// node crashes, half of what was not synced is lost. [disk.Perfect] is the
	// disk that loses nothing.
	Disk disk.Options

	// Client is how the processes' API clients behave.
	Client ClientConfig

	// Digest keeps a hash of the content of each write, for [Cluster.Written].
	Digest bool

	// Profile is the trouble that the cluster lives with from the start.
	Profile Profile
}

// ClientConfig describes API clients.
type ClientConfig struct {
	// Timeout is how long a client waits on a connection that went silent
	// before it gives up on it; zero means 45 s, which is what HTTP/2 health
	// checks of client-go come to.
	Timeout time.Duration

	// Retries is how often a client repeats by itself a request that was
	// answered with Retry-After, or a read whose connection broke; zero means
	// 10 as in client-go, negative means never.
	Retries int
}

// defaultLatency is that of a healthy cluster: a millisecond, seldom twenty.
var defaultLatency = engine.Dist{Min: 200 * time.Microsecond, Mean: time.Millisecond, Max: 20 * time.Millisecond}

func (c Config) withDefaults() Config {
	if c.APIServers <= 0 {
		c.APIServers = 1
	}
	if c.Agents != nil {
		c.NodeObjects = true
	}
	if c.Scheme == nil {
		c.Scheme = clientscheme.Scheme
	}
	if c.Latency == (engine.Dist{}) {
		c.Latency = defaultLatency
	}
	if c.Network == (network.Quality{}) {
		c.Network = defaultQuality
	}
	if c.Disk == (disk.Options{}) {
		c.Disk = disk.Harsh()
	}
	if c.Client.Timeout <= 0 {
		c.Client.Timeout = 45 * time.Second
	}
	switch {
	case c.Client.Retries == 0:
		c.Client.Retries = 10
	case c.Client.Retries < 0:
		c.Client.Retries = 0
	}
	return c
}
