package scenarios

// Names in a scenario that refer to something defined elsewhere. A system's own
// steps use these types for their arguments, so that a name that does not exist
// is refused before anything runs.

// NodeName names a node of the cluster, or is [AnyNode].
type NodeName string

// AnyNode stands for a node that each run draws.
const AnyNode = "any-node"

// ProcessName names a simulated process: controller, node-1/agent.
type ProcessName string

// TargetName names a node, a process or an API server, or is [AnyNode].
type TargetName string

// PeerName names one end of a network link: a node, or control-plane for the
// machine of the API servers and controllers.
type PeerName string

// PropertyName names a property of the library or of the scenario itself.
type PropertyName string

// PropertyPattern names a property of the library, or with a final * all
// properties whose names begin alike.
type PropertyPattern string

// ControllerName names a controller of kube-controller-manager as its flag
// --controllers does: "*" is all of them, "-name" takes one out.
type ControllerName string

// FaultName names a registered kind of fault.
type FaultName string

// What the names above refer to, in the words of messages.
const (
	refNode            = "node"
	refProcess         = "process"
	refTarget          = "node, process or API server"
	refPeer            = "machine"
	refProperty        = "property"
	refPropertyPattern = "library property"
	refFault           = "fault"
	refController      = "controller"
)

// Refers says what kind of thing is named.
func (NodeName) Refers() string { return refNode }

// Refers says what kind of thing is named.
func (ProcessName) Refers() string { return refProcess }

// Refers says what kind of thing is named.
func (TargetName) Refers() string { return refTarget }

// Refers says what kind of thing is named.
func (PeerName) Refers() string { return refPeer }

// Refers says what kind of thing is named.
func (PropertyName) Refers() string { return refProperty }

// Refers says what kind of thing is named.
func (PropertyPattern) Refers() string { return refPropertyPattern }

// Refers says what kind of thing is named.
func (ControllerName) Refers() string { return refController }

// Refers says what kind of thing is named.
func (FaultName) Refers() string { return refFault }
