package home

import (
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// volumes are what a Pod has on its node: an emptyDir on the node's disk, which its
// containers share one after the other, and the bound token in memory.
type volumes struct {
	pod   *grantPod
	node  *cluster.Node
	root  string
	token string
	gone  bool
	dir   grantsDir
}

// tokenFile is where a container finds its token.
const tokenFile = "/var/run/secrets/tokens/grant"

func (v *volumes) grants() string { return path.Join(v.root, "grants") }
func (v *volumes) state() string  { return path.Join(v.root, "state") }

// container is what the kubelet of a grant Pod runs.
func (s *State) container(p *corev1.Pod) *cluster.Container {
	pod := s.pods[string(p.UID)]
	if pod == nil {
		return nil
	}
	node := s.world.Cluster.Node(p.Spec.NodeName)
	v := &volumes{pod: pod, node: node, root: path.Join("/pods", pod.uid)}
	v.dir.start(v)
	pod.volumes = v
	s.mountToken(v)
	return &cluster.Container{
		Process: cluster.ProcessSpec{
			Name: pod.slot.name, User: user(pod), Main: s.agent(pod), Restart: cluster.Restart{Max: 30 * time.Second},
		},
		Terminate: func() { s.terminate(pod) },
		Gone:      func() { s.unmount(v) },
	}
}

// mountToken gives a Pod a fresh token, and again when four fifths of its life are
// over, as long as the kubelet can get one.
func (s *State) mountToken(v *volumes) {
	if v.gone || v.pod.gone {
		return
	}
	const retry = time.Minute
	again, life := retry, s.config.Token.Std()
	if n := v.node; !n.Down() && !s.world.Cluster.Instances()[0].Down() {
		v.token = s.newToken()
		s.controller.owners[v.token] = v.pod
		s.controller.issuer.Trust(v.token, issuer.Pod{
			Name: v.pod.slot.name, UID: v.pod.uid, Expires: s.world.Engine().Now().Add(life),
		})
		again = life / 5 * 4
	}
	s.world.Engine().After(again, func(any) { s.mountToken(v) }, nil)
}

// unmount removes what a Pod had on its node.
func (s *State) unmount(v *volumes) {
	v.gone = true
	v.token = ""
	disk := v.node.Disk()
	for _, dir := range []string{v.grants(), v.state()} {
		for _, name := range disk.List(dir) {
			if err := disk.Remove(path.Join(dir, name)); err != nil {
				s.world.Say("cannot remove %s of a Pod that is gone: %s", name, err)
			}
		}
	}
}
