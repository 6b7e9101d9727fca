package node

import (
	"context"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

// Preparer prepares what the container runtime creates: a Pod sandbox, and each
// container before it starts. [Reconciler] is one.
type Preparer interface {
	// PrepareSandbox reports whether the Pod is prepared.
	PrepareSandbox(ctx context.Context, sb *Sandbox) bool

	// PrepareContainer returns when ctx ends at the latest.
	PrepareContainer(ctx context.Context, sb *Sandbox, c *Container)

	// SandboxRemoved says that nothing runs in a sandbox any more, so its addresses may
	// be another's.
	SandboxRemoved(ctx context.Context, sb *Sandbox)
}

// Sandbox is a Pod sandbox that the container runtime is creating.
type Sandbox struct {
	ID        string
	UID       types.UID
	Namespace string
	Name      string

	// Annotations are the Pod's: the kubelet passes them to the sandbox.
	Annotations map[string]string

	// NetnsPath is the sandbox's network namespace as a path that this process can open;
	// empty when the runtime reports none, as for the host's network.
	NetnsPath string

	// IPs are the Pod's addresses, when the runtime reports them.
	IPs []netip.Addr
}

// Container is a container that the container runtime is about to start.
type Container struct {
	ID   string
	Name string

	// Args are the command and its arguments.
	Args []string
}
