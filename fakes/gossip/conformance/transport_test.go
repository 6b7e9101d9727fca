package conformance

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// network joins real memberlist instances in memory. It behaves as UDP and TCP
// do: packets that cannot arrive are dropped without a word, a dial to a host
// without listener is refused at once, a dial into a partition takes its whole
// timeout. It never blocks a writer.
type network struct {
	mu    sync.Mutex
	hosts map[string]*transport // by address, only those that listen
	delay time.Duration
	side  map[string]bool    // of a partition; nil if there is none
	cuts  map[[2]string]bool // single directed links
	loss  int                // of packets, in percent

	// fail is what a write to a missing host returns. If it is not nil, and not a
	// *net.OpError, that is what a transport must not do.
	fail error
	// tap, if set, sees each packet before anything is decided about it.
	tap func(packet []byte)
}

func newNetwork(delay time.Duration) *network {
	return &network{hosts: make(map[string]*transport), delay: delay}
}

// host finds a listener, nil if there is none. The caller holds no lock.
func (w *network) host(addr string) *transport {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hosts[addr]
}

func (w *network) isCut(from, to string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return (w.side != nil && w.side[from] != w.side[to]) || w.cuts[[2]string{from, to}]
}

// show lets the tap see a packet, one at a time.
func (w *network) show(packet []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tap != nil {
		w.tap(packet)
	}
}

func (w *network) failure(to string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hosts[to] == nil {
		return w.fail
	}
	return nil
}

func (w *network) lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loss > 0 && rand.IntN(100) < w.loss
}

// listen makes the transport of one instance.
func (w *network) listen(addr string) *transport {
	t := &transport{
		net:     w,
		addr:    addr,
		packets: make(chan *memberlist.Packet, 1024),
		streams: make(chan net.Conn, 1024),
		down:    make(chan struct{}),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[addr] = t
	return t
}

// transport is one instance's end of a network.
type transport struct {
	net     *network
	addr    string
	packets chan *memberlist.Packet
	streams chan net.Conn
	down    chan struct{}

	mu    sync.Mutex
	conns []net.Conn // of both directions, to be cut off at Shutdown
}

var _ memberlist.NodeAwareTransport = (*transport)(nil)

// address is a net.Addr made of text.
type address string

func (a address) Network() string { return "memory" }
func (a address) String() string  { return string(a) }

func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	a, err := net.ResolveTCPAddr("tcp", t.addr)
	if err != nil {
		return nil, 0, err
	}
	return a.IP.To4(), a.Port, nil
}

func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	return t.WriteToAddress(b, memberlist.Address{Addr: addr})
}

var errPlain = errors.New("no route to host")

func (t *transport) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	now := time.Now()
	w := t.net
	w.show(b)
	if err := w.failure(a.Addr); err != nil {
		return now, err
	}
	if w.isCut(t.addr, a.Addr) || w.lost() {
		return now, nil
	}
	packet := &memberlist.Packet{Buf: append([]byte(nil), b...), From: address(t.addr)}
	time.AfterFunc(w.delay, func() {
		to := w.host(a.Addr)
		if to == nil {
			return
		}
		packet.Timestamp = time.Now()
		select {
		case to.packets <- packet:
		default: // a full socket buffer drops
		}
	})
	return now, nil
}

func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }
func (t *transport) StreamCh() <-chan net.Conn           { return t.streams }

func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return t.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

func (t *transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	refuse := func(why string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(why)}
	}
	w := t.net
	if w.isCut(t.addr, a.Addr) || w.isCut(a.Addr, t.addr) {
		if !t.wait(timeout) {
			return refuse("use of closed network connection")
		}
		return refuse("i/o timeout")
	}
	if !t.wait(2 * w.delay) {
		return refuse("use of closed network connection")
	}
	to := w.host(a.Addr)
	if to == nil {
		return refuse("connection refused")
	}
	near, far := net.Pipe()
	near, far = &slowConn{near, w.delay}, &slowConn{far, w.delay}
	t.keep(near)
	to.keep(far)
	select {
	case to.streams <- far:
	default:
		return refuse("connection refused")
	}
	return near, nil
}

// slowConn takes the network's delay for each write.
type slowConn struct {
	net.Conn
	delay time.Duration
}

func (c *slowConn) Write(b []byte) (int, error) {
	time.Sleep(c.delay)
	return c.Conn.Write(b)
}

// wait sleeps, or returns false when the transport goes down.
func (t *transport) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.down:
		return false
	}
}

func (t *transport) keep(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = append(t.conns, c)
}

func (t *transport) Shutdown() error {
	t.net.mu.Lock()
	delete(t.net.hosts, t.addr)
	t.net.mu.Unlock()
	close(t.down)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		_ = c.Close() // closing an in-memory pipe cannot fail
	}
	t.conns = nil
	return nil
}
