package kernel_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

const request = "Authorization: Bearer " + shown + "\r\n"

// swapped is what arrives if the value leaves.
func swapped(text string) string { return strings.ReplaceAll(text, shown, value) }

// arrives sends what has been written, and returns what the peer reads.
func arrives(t *testing.T, s *kernel.Socket, p *kernel.Peer, end int) string {
	t.Helper()
	_, wire := s.Leave(0, end)
	got, err := p.Receive(wire)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// What a thread has handed to TLS code counts until the code returns, the thread hands
// over something else or ends, and for no other thread: I15.
func TestPending(t *testing.T) {
	for _, tc := range []struct {
		row    string
		before func(n *node, at kernel.Thread)
		sender int // of the threads
		want   bool
	}{
		{row: "sent within the call", sender: 1, want: true},
		{row: "sent after the call, as with memory BIOs", before: func(n *node, at kernel.Thread) { n.Return(at) }, sender: 1},
		{row: "sent by another thread", sender: 2},
		{row: "something else was handed over", before: func(n *node, at kernel.Thread) { n.Enter(at, lib, []byte("no placeholder")) }, sender: 1},
		{row: "code that is not hooked does not count", before: func(n *node, at kernel.Thread) { n.Enter(at, "rustls", []byte("nothing")) }, sender: 1, want: true},
		{row: "S28: the thread has ended, and another has its number", before: func(n *node, at kernel.Thread) { n.ExitThread(at) }, sender: 1},
		{row: "it may use nothing any more", before: func(n *node, _ kernel.Thread) {
			if err := n.SetACL(n.ctx, []policy.Grant{{Cgroup: n.cgroup, Key: n.key}}, nil); err != nil {
				panic(err)
			}
		}, sender: 1},
	} {
		n := newNode(t)
		n.resolve(t, server, "a.com")
		s, p := n.dial(t, row.V4, nil)
		at := kernel.Thread{PID: n.pid, TID: 1}
		n.Enter(at, lib, []byte(request))
		buf := s.Seal([]byte(request))
		if tc.before != nil {
			tc.before(n, at)
		}
		end, err := s.Send(kernel.Thread{PID: n.pid, TID: tc.sender}, buf, buf)
		n.must(t, err)
		want := request
		if tc.want {
			want = swapped(request)
		}
		if got := arrives(t, s, p, end); got != want {
			t.Errorf("%s: arrives as %q", tc.row, got)
		}
	}
}

// S28: what is pending for one connection is sent over another, which code that is not
// hooked writes to with as many bytes. Its own destination decides: that of another host
// gets nothing.
func TestStalePending(t *testing.T) {
	n := newNode(t)
	n.resolve(t, server, "a.com")
	at := kernel.Thread{PID: n.pid, TID: 1}
	n.Enter(at, lib, []byte(request))
	s, p := n.dial(t, netip.MustParseAddr("198.51.100.66"), nil)
	text := strings.Repeat("x", len(request))
	buf := s.Seal([]byte(text))
	end, err := s.Send(at, buf, buf)
	n.must(t, err)
	if got := arrives(t, s, p, end); got != text || n.Count(policy.HostMismatch) != 1 {
		t.Errorf("%q arrives, %d mismatches", got, n.Count(policy.HostMismatch))
	}
}

// S29: somebody writes to the text after it was looked at, or to the record after the
// kernel has read it. Nothing but that one record is spoilt, and no value is in it.
func TestTampering(t *testing.T) {
	n := newNode(t)
	n.resolve(t, server, "a.com")
	at := kernel.Thread{PID: n.pid, TID: 1}

	s, p := n.dial(t, row.V4, nil)
	n.Enter(at, lib, []byte(request))
	buf := s.Seal([]byte(strings.Replace(request, shown, strings.Repeat("z", len(shown)), 1)))
	end, err := s.Send(at, buf, buf)
	n.must(t, err)
	_, wire := s.Leave(0, end)
	if got, err := p.Receive(wire); err != nil || bytes.Contains(got, []byte(value)) {
		t.Errorf("the text was changed before it was sealed: %q, %v", got, err)
	}

	s, _ = n.dial(t, row.V4, nil)
	n.Enter(at, lib, []byte(request))
	buf = s.Seal([]byte(request))
	other := bytes.Clone(buf)
	other[30] ^= 1
	end, err = s.Send(at, buf, other)
	n.must(t, err)
	if _, wire := s.Leave(0, end); !bytes.Equal(wire, other) || n.Count("cas_mismatch") != 1 {
		t.Errorf("a record that is not the one that was seen is changed")
	}
}

// S27: whoever writes decides what may be used, wherever the socket came from.
func TestPassedSocket(t *testing.T) {
	n := newNode(t)
	n.resolve(t, server, "a.com")
	s, p := n.dial(t, row.V4, nil)
	elsewhere := n.AddCgroup("other", "other", kernel.Image{Libraries: []kernel.File{lib}})
	n.must(t, n.TrackCgroup(n.ctx, elsewhere))
	pid := n.Fork(elsewhere, n.netns)
	end, err := s.Write(pid, lib, []byte(request))
	n.must(t, err)
	if got := arrives(t, s, p, end); got != request || n.Count(policy.NoACL) != 1 {
		t.Errorf("%q arrives", got)
	}
}

// S30: a server in a Pod sends nobody a value.
func TestAccepted(t *testing.T) {
	n := newNode(t)
	s, err := n.Accept(n.pid, netip.MustParseAddrPort("203.0.113.1:443"), master)
	n.must(t, err)
	p, err := kernel.NewPeer(master)
	n.must(t, err)
	end, err := s.Write(n.pid, lib, []byte(request))
	n.must(t, err)
	if got := arrives(t, s, p, end); got != request || n.Count(policy.NoSocket) != 1 {
		t.Errorf("%q arrives", got)
	}
}
