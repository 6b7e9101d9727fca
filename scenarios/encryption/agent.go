package encryption

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/kmshealth"
	"github.com/seedbed-sim/seedbed/core/encryption/nodeagent"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/disk"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// agentUser makes the requests of what runs on nodes.
const agentUser = "system:serviceaccount:seedbed-encryption:agent"

// gateImage is that of the container that runs nodeagent.Gate.
const gateImage = "seedbed/encryption-gate"

// serverPods selects the Pods of API servers.
func serverPods() labels.Selector {
	return labels.SelectorFromSet(labels.Set{"component": "kube-apiserver"})
}

// controlPlane knows the nodes that run an API server.
func controlPlane(env *cluster.Env, live kube.Reader) *deployer.ControlPlane {
	return &deployer.ControlPlane{Live: live, Clock: env.Clock, Namespace: serverNamespace, Selector: serverPods()}
}

// runAgent is the main function of the process that brings revisions to a node.
func (n *node) runAgent(ctx context.Context, env *cluster.Env) {
	n.returned()
	agent := nodeagent.New(nodeagent.Config{
		Node: n.name, Live: env.Kube, Local: n.local(env), Clock: env.Clock, ConfigNamespace: Namespace,
		Files:        &agentFiles{FS: env.Disk(), node: n, env: env},
		PodNamespace: serverNamespace, Selector: serverPods(), Nodes: controlPlane(env, env.Kube).Nodes,
		PluginsUp: func(ctx context.Context, keys []uint64) (bool, error) { return n.pluginsUp(ctx, env, keys) },
		Loaded:    n.loadedHash, GateImage: gateImage, Log: n.state.logOf(env),
	})
	driven := agent.Controller()
	driven.Reconciler = &counted{driven.Reconciler, n.state, driven.Name + " on " + n.name}
	if err := env.Run(ctx, driven); err != nil && ctx.Err() == nil {
		env.Log.Error(err, "The agent ended")
	}
}

// local is the API server of the node itself, which the agent reaches without a network.
func (n *node) local(env *cluster.Env) kube.Kube {
	own := direct{state: n.state, user: agentUser, choose: func() *apiserver.Server {
		if !n.server.answers() {
			return nil
		}
		return n.server.instance.Server()
	}}
	return apiclient.New(own, n.state.world.Cluster.Store().Scheme(), apiclient.WithUserAgent(env.Process), apiclient.WithoutManagedFields())
}

var errNoAnswer = errors.New("the API server of the node does not answer")

// loadedHash is what the node's API server tells in its metrics.
func (n *node) loadedHash(context.Context) (string, error) {
	if !n.server.answers() {
		return "", errNoAnswer
	}
	if l := n.server.instance.Encryption(); l != nil {
		return l.Info().Hash, nil
	}
	return "", nil
}

// pluginsUp asks the plugins of the node how they are.
func (n *node) pluginsUp(ctx context.Context, env *cluster.Env, keys []uint64) (bool, error) {
	for _, id := range keys {
		conn, err := n.node.Sockets().Dial(config.KMSEndpoint(id), kmshealth.StatusTimeout, env.Entropy)
		if err != nil {
			return false, err
		}
		status, err := channel{conn, env.Clock}.Status(ctx)
		if err != nil || status.Healthz != "ok" {
			return false, ctx.Err()
		}
	}
	return true, nil
}

// agentFiles is the disk of a node under its agent. It lets the kubelet notice what
// the agent has written, keeps backups, and ends the agent, or the node, where a
// scenario says so.
type agentFiles struct {
	disk.FS
	node *node
	env  *cluster.Env
}

var _ nodeagent.Files = (*agentFiles)(nil)

// WriteFile implements nodeagent.Files.
func (f *agentFiles) WriteFile(ctx context.Context, name string, data []byte) error {
	if strings.HasSuffix(name, "config.json.new") {
		f.node.state.learnRaw(data)
	}
	return f.change(ctx, func() error { return f.FS.WriteFile(ctx, name, data) })
}

// Sync implements nodeagent.Files.
func (f *agentFiles) Sync(ctx context.Context, name string) error {
	return f.change(ctx, func() error { return f.FS.Sync(ctx, name) })
}

// Rename implements nodeagent.Files.
func (f *agentFiles) Rename(ctx context.Context, from, to string) error {
	return f.change(ctx, func() error {
		err := f.FS.Rename(ctx, from, to)
		if err == nil {
			f.node.written(to)
		}
		return err
	})
}

// Remove implements nodeagent.Files.
func (f *agentFiles) Remove(ctx context.Context, name string) error {
	return f.change(ctx, func() error {
		err := f.FS.Remove(ctx, name)
		if err == nil {
			f.node.written(name)
		}
		return err
	})
}

// SyncDir implements nodeagent.Files.
func (f *agentFiles) SyncDir(ctx context.Context, dir string) error {
	return f.change(ctx, func() error { return f.FS.SyncDir(ctx, dir) })
}

// written lets the kubelet notice a file of the agent.
func (n *node) written(name string) {
	n.wrote[name] = true
	switch {
	case name == manifestPath:
		n.wake(n.changed)
		n.backUp()
	case path.Dir(name) == path.Dir(manifestPath):
		n.wake(n.pluginsChanged)
	case name == revisionFile:
		n.backUp()
	}
}

// wake lets the kubelet notice that something has changed.
func (n *node) wake(s clock.Signal) {
	if s != nil {
		s.Send()
	}
}

// mishap is what befalls agents at changes of their disks.
type mishap struct {
	rate    engine.Prob
	machine bool // the node loses power, and not the agent alone dies
}

// change makes a change of the disk, right before or right after which the agent may
// die.
func (f *agentFiles) change(ctx context.Context, do func() error) error {
	if err := f.mayDie(ctx, "before"); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return f.mayDie(ctx, "after")
}

func (f *agentFiles) mayDie(ctx context.Context, when string) error {
	n, m := f.node, f.node.state.mishap
	if m.rate == 0 || !n.state.world.Engine().Stream("agent-mishap", n.name).Hit(m.rate) {
		return nil
	}
	n.state.tell("node", "the agent on %s dies %s it changes its disk", n.name, when)
	n.state.world.Engine().After(0, func(any) {
		if m.machine && n.state.up() > 1 {
			n.node.Restart(time.Minute)
		} else {
			n.agent.Crash()
		}
	}, nil)
	return f.env.Clock.Sleep(ctx, time.Hour) // nothing follows
}

// image is what a backup of a node's disk has: the files of the agent.
type image struct {
	revision int64 // the latest at that time
	files    map[string][]byte
}

// backUp keeps what is on the disk of the node.
func (n *node) backUp() {
	i := image{n.state.policy.Status.LatestRevision, map[string][]byte{}}
	for _, name := range slices.Sorted(maps.Keys(n.wrote)) {
		if data, err := n.node.Disk().ReadFile(name); err == nil {
			i.files[name] = data
		}
	}
	n.images = append(n.images, i)
}

// Files of rollout by reload: the configuration, and the number of its revision.
const (
	reloadedFile = nodeagent.DefaultDir + "/live/config.json"
	revisionFile = nodeagent.DefaultDir + "/live/revision"
)
