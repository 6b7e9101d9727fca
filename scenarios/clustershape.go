package scenarios

import (
	"strconv"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Cluster is the shape of the simulated cluster.
type Cluster struct {
	Nodes       int              `yaml:"nodes" form:"min=1,max=5000" doc:"Number of nodes, called node-1, node-2, …; 3 by default."`
	APIServers  int              `yaml:"apiServers" form:"min=1,max=9" doc:"Number of API servers over one store, called apiserver-0, apiserver-1, …; 1 by default."`
	NodeObjects bool             `yaml:"nodeObjects" doc:"Whether the nodes are registered as Node objects; false by default."`
	RBAC        bool             `yaml:"rbac" doc:"Whether the API servers enforce the Roles and bindings that exist; otherwise everybody may do everything."`
	WatchList   *bool            `yaml:"watchList" doc:"Whether the API servers stream first lists (sendInitialEvents), as those of today do; true by default. Otherwise clients list from a watch cache, which may be old."`
	Controllers []ControllerName `yaml:"controllers" doc:"Controllers of kube-controller-manager that run, as a process of that name on the control plane: \"*\" for all, -name for all but one; none by default, and then nothing is collected and no namespace goes."`
	CRDs        []string         `yaml:"crds" doc:"Files or folders with CustomResourceDefinitions whose kinds the API servers serve, relative to this file; such as config/crd/bases."`
	Latency     *Span            `yaml:"latency" doc:"Time that a request or an answer is on its way; about a millisecond by default."`
}

const defaultNodes = 3

// controlPlane is the machine of the API servers and controllers.
const controlPlane = "control-plane"

// NodeCount is how many nodes the cluster has.
func (c Cluster) NodeCount() int {
	if c.Nodes == 0 {
		return defaultNodes
	}
	return c.Nodes
}

func (c Cluster) apiOptions() apiserver.Options {
	return apiserver.Options{RBAC: c.RBAC, NoWatchList: c.WatchList != nil && !*c.WatchList}
}

// controllerNames are the entries of controllers as text.
func (c Cluster) controllerNames() []string {
	var names []string
	for _, name := range c.Controllers {
		names = append(names, string(name))
	}
	return names
}

func (c Cluster) serverCount() int { return max(c.APIServers, 1) }

// NodeNames are the names of the nodes, in order.
func (c Cluster) NodeNames() []string {
	names := make([]string, c.NodeCount())
	for i := range names {
		names[i] = "node-" + strconv.Itoa(i+1)
	}
	return names
}

func (c Cluster) serverNames() []string {
	names := make([]string, c.serverCount())
	for i := range names {
		names[i] = "apiserver-" + strconv.Itoa(i)
	}
	return names
}
