package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

// model is the arm made of fakes/gossip.
type model struct {
	lab   *gossip.Lab
	nodes map[int]*gossip.Node
	rings map[int]*gossip.Ring
	rec   record
	tweak func(*gossip.Config) // makes a wrong model, on purpose
}

var _ arm = (*model)(nil)

func newModel(seed uint64) *model {
	m := &model{lab: gossip.NewLab(seed), nodes: make(map[int]*gossip.Node), rings: make(map[int]*gossip.Ring)}
	m.lab.Links.Delay = delay
	m.lab.KeepNone = true
	m.lab.OnEvent = func(ev gossip.LabEvent) {
		name := func(id gossip.NodeID) int { return nodeOf(m.lab.Cluster.Name(id)) }
		switch ev.Kind {
		case gossip.EventJoin, gossip.EventLeave:
			m.rec.changes = append(m.rec.changes, change{ev.At, name(ev.Node), name(ev.Peer), ev.Kind == gossip.EventLeave})
		case gossip.EventDecryptFail:
			m.rec.failures++
		}
	}
	return m
}

func (m *model) start(node int, set settings) {
	cfg := gossip.LocalConfig(nodeName(node))
	if set.lan {
		cfg = gossip.LANConfig(nodeName(node))
	}
	cfg.Addr = nodeAddr(node)
	cfg.GossipVerifyIncoming, cfg.GossipVerifyOutgoing = !set.clearIn, !set.clearOut
	if m.tweak != nil {
		m.tweak(&cfg)
	}
	delete(m.rings, node)
	if len(set.keys) > 0 || set.ring {
		ring, err := gossip.NewRing(nil, nil)
		for _, k := range set.keys {
			err = errors.Join(err, ring.AddKey(k))
		}
		if err != nil {
			panic(fmt.Sprintf("ring of %s: %v", nodeName(node), err))
		}
		m.rings[node], cfg.Keyring = ring, ring
	}
	n, err := m.lab.Cluster.Create(cfg)
	if err != nil {
		panic(err)
	}
	m.nodes[node] = n
}

// live is the node's instance, nil if it is down.
func (m *model) live(node int) *gossip.Node {
	if n := m.nodes[node]; n != nil && n.Up() {
		return n
	}
	return nil
}

func (m *model) join(node int, peers ...int) {
	n := m.live(node)
	if n == nil {
		return
	}
	addrs := make([]string, len(peers))
	for i, p := range peers {
		addrs[i] = nodeAddr(p)
	}
	n.Join(addrs, nil)
}

func (m *model) crash(node int) {
	if n := m.live(node); n != nil {
		n.Crash()
	}
}

func (m *model) leave(node int) {
	if n := m.live(node); n != nil {
		n.Leave(time.Second, func(error) {
			m.lab.At(m.lab.Now()+time.Second, n.Shutdown)
		})
	}
}

func (m *model) ring(node int) gossipkeys.Keyring { return m.rings[node] }

func (m *model) partition(one []int) {
	if one == nil {
		m.lab.Links.Heal()
		return
	}
	var group []gossip.Addr
	for _, i := range one {
		group = append(group, m.lab.Cluster.Addr(nodeAddr(i)))
	}
	m.lab.Links.Partition(group)
}

func (m *model) cut(from, to int) {
	m.lab.Links.Cut(m.lab.Cluster.Addr(nodeAddr(from)), m.lab.Cluster.Addr(nodeAddr(to)))
}

func (m *model) lose(percent int) { m.lab.Links.Loss = uint32(percent) * 10_000 }

func (m *model) health(node int) int {
	if n := m.live(node); n != nil {
		return n.HealthScore()
	}
	return -1
}

func (m *model) failSends(blame bool) {
	err := errPlain
	if blame {
		err = gossip.ErrUnreachable
	}
	m.lab.Fail = func(e *gossip.Envelope) error {
		if !e.Stream && m.lab.Cluster.At(e.To) == nil {
			return err
		}
		return nil
	}
}

func (m *model) sleep(d time.Duration) { m.lab.Run(d) }
func (m *model) now() time.Duration    { return m.lab.Now() }
func (m *model) close() record         { return m.rec }
