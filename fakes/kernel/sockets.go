package kernel

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
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
		suite: d.Suite, session: session, start: patch.Seq(d.Sequence),
	}
	for _, row := range k.vips {
		if row.Host == "" || row.V4 != d.Destination.Addr() && row.V6 != d.Destination.Addr() {
			continue
		}
		addrs := k.real[row.ID()]
		if len(addrs) == 0 {
			return nil, fmt.Errorf("connect to %s: %w", d.Destination, errUnreachable)
		}
		s.remote = netip.AddrPortFrom(addrs[int(k.cookie)%len(addrs)], d.Destination.Port())
		if strings.EqualFold(d.ServerName, row.Host) {
			s.host = row.ID()
		}
	}
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

// Write lets a process write a text through TLS code in a file, and returns how many
// bytes the stream has then. If the code is hooked, placeholders in the text are found,
// and what is to change is decided here and now; the text itself stays as it is.
func (s *Socket) Write(pid int, code File, text []byte) (int, error) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	p := s.k.processes[pid]
	if p == nil {
		return 0, fmt.Errorf("process %d: %w", pid, plane.ErrNoProcess)
	}
	buf := s.session.seal(text)
	at := s.start + patch.Seq(len(s.sent))
	s.sent = append(s.sent, buf...)
	// Nothing is prepared before the program that would apply it is attached: it could come
	// to be in the middle of the record.
	if s.k.hooked[code] && s.k.tracked[p.cgroup] && s.k.attached[s.netns] > 0 && len(text) > 0 {
		s.k.prepare(s, p.cgroup, text, buf, at)
	}
	return len(s.sent), nil
}

// prepare computes what of a write is to change on its way.
func (k *Kernel) prepare(s *Socket, cg policy.Cgroup, text, buf []byte, at patch.Seq) {
	changes := k.changes(s, cg, text)
	if len(changes) == 0 {
		return
	}
	if s.suite != AESGCM {
		k.count("cipher")
		return
	}
	parts, err := patch.Locate(buf, len(text), 0, patch.TLS13)
	if err != nil {
		k.count("hdr_mismatch")
		return
	}
	for _, part := range parts {
		e, err := patch.NewEntry(s.session.key, buf, at, part, changes)
		if err == nil {
			err = s.ring.Add(e)
		}
		if err != nil {
			k.count("ring_full")
		}
	}
}

// changes finds the placeholders in a text that may leave as values.
func (k *Kernel) changes(s *Socket, cg policy.Cgroup, text []byte) (changes []patch.Change) {
	forms := map[placeholder.Key]*placeholder.Form{}
	owners := map[placeholder.Key]placeholder.Key{} // of forms: the key of the entry
	rules := map[placeholder.Key]policy.Rule{}
	for _, key := range slices.SortedFunc(maps.Keys(k.entries), placeholder.Key.Compare) {
		e := k.entries[key]
		rules[key] = e.Rule
		list := placeholder.Forms(e.Placeholder, e.Value.Reveal())
		for i := range list {
			forms[list[i].Key], owners[list[i].Key] = &list[i], key
		}
	}
	tables := policy.Tables{Rules: rules, Grants: k.grants}
	seen := policy.Socket{Outgoing: true, TCP: true, Host: k.hostOf(s), Destination: s.destination}
	for _, hit := range placeholder.Find(text, func(key placeholder.Key) *placeholder.Form { return forms[key] }) {
		key := owners[hit.Form.Key]
		verdict := tables.Decide(cg, key, seen)
		if verdict.Why != "" {
			k.count(verdict.Why)
			k.emit(plane.Event{Violation: &plane.Violation{Cgroup: cg, Owner: k.entries[key].Owner, Why: verdict.Why}})
		}
		if verdict.Allow {
			changes = append(changes, patch.Change{At: hit.At, Delta: hit.Form.Delta})
		}
	}
	return changes
}

// hostOf returns the host that a socket was verified for, if it is still used.
func (k *Kernel) hostOf(s *Socket) string {
	for _, row := range k.vips {
		if row.ID() == s.host && row.Host != "" && row.State == virtualip.Used {
			return row.Host
		}
	}
	return ""
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
	if s.k.attached[s.netns] > 0 {
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

func (k *Kernel) count(why policy.Reason) { k.counts[why]++ }

// Count is how often a placeholder stayed as it was for a reason.
func (k *Kernel) Count(why policy.Reason) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counts[why]
}
