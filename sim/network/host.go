package network

import "github.com/seedbed-sim/seedbed/sim/engine"

// Host is an end of links. It may listen on ports.
type Host struct {
	n          *Network
	name       string
	down       bool
	boots      int   // how often it was taken down
	isolations []int // numbers of those it is in, ascending
	ports      map[string]func(Packet)
}

// Packet is what a listener receives.
type Packet struct {
	From, To, Port string
	Payload        any
}

// Host returns the host with this name, made at the first call.
func (n *Network) Host(name string) *Host {
	h, ok := n.hosts[name]
	if !ok {
		h = &Host{n: n, name: name, ports: map[string]func(Packet){}}
		n.hosts[name] = h
		n.hostList = append(n.hostList, h)
	}
	return h
}

// Name returns the host's name.
func (h *Host) Name() string { return h.name }

// SetUp takes the host off the network, or back on. It is for a machine that is
// switched off: nothing leaves or reaches it, what is on its way is lost, and its
// ends of connections are gone, without a word to the other ends.
func (h *Host) SetUp(up bool) {
	if h.down == !up {
		return
	}
	h.down = !up
	if up {
		h.n.flush()
	} else {
		h.boots++
	}
}

// Listen calls fn for each packet that arrives at port, until stop is called or
// another call of Listen takes the port over.
func (h *Host) Listen(port string, fn func(Packet)) (stop func()) {
	current := &fn
	h.ports[port] = func(p Packet) { (*current)(p) }
	return func() { *current = func(Packet) {} }
}

// ListenIn is Listen for a process of the host: fn is not called while the process
// is paused, and the port closes when the process ends.
func (h *Host) ListenIn(p *engine.Process, port string, fn func(Packet)) {
	stop := h.Listen(port, func(pkt Packet) {
		p.Deliver(func(any) { fn(pkt) }, nil)
	})
	p.OnEnd(stop)
}

// Send sends a datagram to a port of another host. The sender does not learn
// whether it arrives, nor whether anybody listens.
func (h *Host) Send(to, port string, payload any) {
	pkt := &Packet{From: h.name, To: to, Port: port, Payload: payload}
	h.n.Send(h.name, to, h.n.receive, pkt)
}

func (n *Network) receive(arg any) {
	pkt := arg.(*Packet)
	if fn := n.hosts[pkt.To].ports[pkt.Port]; fn != nil {
		fn(*pkt)
	}
}
