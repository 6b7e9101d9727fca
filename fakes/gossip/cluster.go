package gossip

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Cluster is everything that gossips in one run: the names, the endpoints and
// the instances listening on them. It is passive: it moves when a timer of its
// Env fires or an envelope is delivered. One goroutine uses it.
type Cluster struct {
	env       Env
	names     []string // by NodeID
	ids       map[string]NodeID
	endpoints []endpoint // by Addr
	addrs     map[string]Addr
	keys      *keyTable
	slab      []Envelope
	epochs    uint32
}

type endpoint struct {
	name  string
	node  *Node  // nil if nobody listens
	owner NodeID // who listens or listened last; Nobody at first
}

// NewCluster makes an empty cluster in the given world.
func NewCluster(env Env) *Cluster {
	return &Cluster{
		env:   env,
		ids:   make(map[string]NodeID, 8),
		addrs: make(map[string]Addr, 8),
		keys:  newKeyTable(),
	}
}

// Format makes every verb of fmt print the names, for the cluster knows the keys.
func (c *Cluster) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "gossip:["+strings.Join(c.names, " ")+"]")
}

// ID interns a node's name. IDs count up from 0 in the order of first use.
func (c *Cluster) ID(name string) NodeID {
	if id, ok := c.ids[name]; ok {
		return id
	}
	id := NodeID(len(c.names))
	c.names = append(c.names, name)
	c.ids[name] = id
	return id
}

// Name is the name behind an ID, or "" for Nobody.
func (c *Cluster) Name(id NodeID) string {
	if id < 0 || int(id) >= len(c.names) {
		return ""
	}
	return c.names[id]
}

// Addr interns an endpoint. Addrs count up from 0 in the order of first use.
func (c *Cluster) Addr(name string) Addr {
	if a, ok := c.addrs[name]; ok {
		return a
	}
	a := Addr(len(c.endpoints))
	c.endpoints = append(c.endpoints, endpoint{name: name, owner: Nobody})
	c.addrs[name] = a
	return a
}

// AddrName is the name behind an Addr.
func (c *Cluster) AddrName(a Addr) string { return c.endpoints[a].name }

// At is the instance listening on an endpoint, or nil.
func (c *Cluster) At(a Addr) *Node { return c.endpoints[a].node }

// Owner is the node that listens on an endpoint or was the last to; Nobody if
// nobody ever did. A network uses it to find the ends of a link.
func (c *Cluster) Owner(a Addr) NodeID { return c.endpoints[a].owner }

// Create starts an instance, alone in its own view until it joins or is joined.
// It fails if the configuration cannot work or the endpoint is taken.
func (c *Cluster) Create(cfg Config) (*Node, error) {
	switch {
	case cfg.Name == "":
		return nil, errors.New("creating a gossip instance: the node needs a name")
	case len(cfg.Label) > 255:
		return nil, fmt.Errorf("creating gossip instance %s: could not use %q as a label: too long", cfg.Name, cfg.Label)
	case cfg.ProbeInterval <= 0 || cfg.GossipInterval <= 0 || cfg.PushPullInterval <= 0:
		return nil, fmt.Errorf("creating gossip instance %s: probe, gossip and push/pull intervals must be positive", cfg.Name)
	}
	if cfg.Addr == "" {
		cfg.Addr = cfg.Name
	}
	addr := c.Addr(cfg.Addr)
	ep := &c.endpoints[addr]
	if ep.node != nil {
		return nil, fmt.Errorf("creating gossip instance %s: address %s is already in use", cfg.Name, cfg.Addr)
	}
	c.epochs++
	n := &Node{c: c, id: c.ID(cfg.Name), addr: addr, cfg: cfg, epoch: c.epochs, created: c.env.Now(), up: true}
	ep.node, ep.owner = n, n.id
	n.start()
	return n, nil
}

// Deliver is called by the network when an envelope arrives, and by an attacker
// to inject one of his own making or keeping. What nobody listens for is lost;
// a dial to an endpoint without listener is refused, for the host still answers.
func (c *Cluster) Deliver(e *Envelope) {
	n := c.endpoints[e.To].node
	switch {
	case e.Stream && (e.Step == StepDial || e.Step == StepRequest):
		c.deliverToListener(n, e)
	case n == nil:
	case n.paused:
		n.postpone(onArrival, &arrival{n, e})
	default:
		n.receive(e)
	}
}

// deliverToListener handles the legs of a stream that a kernel answers for its
// process: a paused process still accepts, a dead one refuses.
func (c *Cluster) deliverToListener(n *Node, e *Envelope) {
	if n == nil || (e.Step == StepRequest && e.Epoch != 0 && e.Epoch != n.epoch) {
		c.reply(e, StepRefuse, 0)
		return
	}
	if e.Step == StepDial {
		c.reply(e, StepAccept, n.epoch)
		return
	}
	if n.paused {
		n.postpone(onArrival, &arrival{n, e})
		return
	}
	n.receive(e)
}

// reply answers a leg of a stream below the protocol: no label, no key.
func (c *Cluster) reply(e *Envelope, step Step, epoch uint32) {
	r := c.envelope()
	r.From, r.To, r.Stream = e.To, e.From, true
	r.Step, r.Conn, r.Epoch = step, e.Conn, epoch
	_ = c.env.Send(r) // an answer that cannot be sent is a lost answer
}

type arrival struct {
	n *Node
	e *Envelope
}

func onArrival(a any) {
	in := a.(*arrival)
	if in.n.up {
		in.n.receive(in.e)
	}
}

// envelope returns an empty envelope. They are cut from slabs, since a run
// makes thousands and none may be reused.
func (c *Cluster) envelope() *Envelope {
	if len(c.slab) == 0 {
		c.slab = make([]Envelope, 32)
	}
	e := &c.slab[0]
	c.slab = c.slab[1:]
	return e
}
