package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// Socket is the sending side of a TLS connection over TCP that a process of a Pod has
// made.
type Socket struct {
	k      *Kernel
	cookie uint64
	cgroup policy.Cgroup // in which it was made
	netns  plane.Netns

	destination netip.AddrPort // as the process gave it
	remote      netip.AddrPort // where it goes
	host        uint64         // that it was verified for
	outgoing    bool           // a process here has made it, and has not accepted it
	suite       Suite
	session     *session

	start patch.Seq
	sent  []byte // the stream as the process wrote it; what is sent again comes from here
	ring  patch.Ring
}

// Dial is how a process connects.
type Dial struct {
	PID         int
	Destination netip.AddrPort
	ServerName  string // in the handshake
	Suite       Suite
	Master      [16]byte // what the keys of the session come from
	Sequence    uint32   // where the sequence space begins
}

// errUnreachable is what a process sees that connects to a virtual IP nobody stands for.
var errUnreachable = errors.New("network is unreachable")

// Connect makes a connection. If the destination is a virtual IP, the socket goes to a
// real address of its host and is verified for that host, unless the handshake names
// another.
func (k *Kernel) Connect(d Dial) (*Socket, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[d.PID]
	if p == nil {
		return nil, fmt.Errorf("process %d: %w", d.PID, plane.ErrNoProcess)
	}
	session, err := newSession(d.Master)
	if err != nil {
		return nil, err
	}
	k.cookie++
	s := &Socket{
		k: k, cookie: k.cookie, cgroup: p.cgroup, netns: p.netns, destination: d.Destination, remote: d.Destination,
		outgoing: true, suite: d.Suite, session: session, start: patch.Seq(d.Sequence),
	}
	for _, row := range k.vips {
		if row.Host == "" || row.V4 != d.Destination.Addr() && row.V6 != d.Destination.Addr() {
			continue
		}
		addr, ok := k.realOf(p.netns, row.ID(), d.Destination.Addr())
		if !ok {
			return nil, fmt.Errorf("connect to %s: %w", d.Destination, errUnreachable)
		}
		s.remote = netip.AddrPortFrom(addr, d.Destination.Port())
		if strings.EqualFold(d.ServerName, row.Host) {
			s.host = row.ID()
		}
	}
	k.sockets[s.cookie] = s
	return s, nil
}

// Accept makes the sending side of a connection that somebody else has made to a process.
func (k *Kernel) Accept(pid int, from netip.AddrPort, master [16]byte) (*Socket, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.processes[pid]
	if p == nil {
		return nil, fmt.Errorf("process %d: %w", pid, plane.ErrNoProcess)
	}
	session, err := newSession(master)
	if err != nil {
		return nil, err
	}
	k.cookie++
	s := &Socket{k: k, cookie: k.cookie, cgroup: p.cgroup, netns: p.netns, destination: from, remote: from, suite: AESGCM, session: session}
	k.sockets[s.cookie] = s
	return s, nil
}

// Remote is where the connection goes.
func (s *Socket) Remote() netip.AddrPort { return s.remote }

// Close ends the connection.
func (s *Socket) Close() {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	delete(s.k.sockets, s.cookie)
}

// Leave sends bytes of the stream as one segment, for the first time or again. It
// returns them as they are within the Pod, and as they are on the wire. Of a connection
// that is gone, as one is whose Pod has ended, nothing leaves.
func (s *Socket) Leave(from, to int) (inside, wire []byte) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	if s.k.sockets[s.cookie] != s {
		return nil, nil
	}
	inside = slices.Clone(s.sent[from:to])
	wire = slices.Clone(inside)
	for range s.k.attached[s.netns] {
		if out := s.ring.Apply(s.start+patch.Seq(from), wire); out.Mismatched > 0 {
			s.k.count("cas_mismatch")
		}
	}
	return inside, wire
}

// Acked says that the peer has all bytes of the stream before n.
func (s *Socket) Acked(n int) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	s.ring.Acked(s.start + patch.Seq(n))
}

// Peer is the other end of a connection.
type Peer struct {
	session *session
	stream  []byte
}

// NewPeer returns the end that has the keys of a dial.
func NewPeer(master [16]byte) (*Peer, error) {
	s, err := newSession(master)
	return &Peer{session: s}, err
}

// Receive takes the next bytes of the stream, and returns the text of the records that
// are whole by then.
func (p *Peer) Receive(b []byte) (text []byte, err error) {
	p.stream = append(p.stream, b...)
	text, p.stream, err = p.session.open(p.stream)
	return text, err
}
