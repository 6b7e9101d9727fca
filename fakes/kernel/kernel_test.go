package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/placeholder"
	"github.com/seedbed-sim/seedbed/core/cloak/plane"
	"github.com/seedbed-sim/seedbed/core/cloak/policy"
	"github.com/seedbed-sim/seedbed/core/cloak/virtualip"
	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/secret"
	"github.com/seedbed-sim/seedbed/fakes/kernel"
)

const (
	value = "correct-horse-1"
	shown = "kl--aB3cD4eF5gH" // the placeholder; it only has the length of the value
	lib   = kernel.File("libssl")
)

var (
	real1  = netip.MustParseAddr("93.184.216.34")
	podIP  = netip.MustParseAddr("10.1.0.5")
	server = netip.MustParseAddr("10.0.0.10")
	row    = virtualip.Row{Host: "a.com", V4: netip.MustParseAddr("198.18.0.1"), V6: netip.MustParseAddr("fd6b:6c6f:616b::1"), State: virtualip.Used}
)

// node is a kernel with a Pod on it that may use a secret for a.com:443.
type node struct {
	*kernel.Kernel
	ctx    context.Context
	netns  plane.Netns
	cgroup policy.Cgroup
	pid    int
	path   string
	key    placeholder.Key
	now    time.Duration
}

type fatal interface {
	Helper()
	Fatal(args ...any)
}

func newNode(t fatal) *node {
	t.Helper()
	n := &node{ctx: context.Background()}
	n.Kernel = kernel.New(kernel.Options{Now: func() time.Duration { return n.now }})
	n.netns, n.path = n.AddNetns(podIP)
	n.cgroup = n.AddCgroup("uid", "container", kernel.Image{Libraries: []kernel.File{lib}})
	n.pid = n.Fork(n.cgroup, n.netns)
	hosts, err := policy.ParseHosts("a.com")
	n.must(t, err)
	port, err := policy.ParsePort("443")
	n.must(t, err)
	e := plane.Entry{Placeholder: shown, Value: secret.New([]byte(value)), Rule: policy.Rule{Hosts: hosts, Port: port},
		Owner: plane.Owner{NamespacedName: types.NamespacedName{Namespace: "default", Name: "db"}, Key: "k"}}
	n.key = e.Key()
	_, err = n.AttachNetns(n.ctx, n.path)
	n.must(t, err)
	n.must(t, n.BindPod(n.ctx, podIP, "uid"))
	n.must(t, n.TrackCgroup(n.ctx, n.cgroup))
	n.must(t, n.AttachLibraries(n.ctx, n.cgroup))
	n.must(t, n.PutEntry(n.ctx, e))
	n.must(t, n.SetACL(n.ctx, nil, []policy.Grant{{Cgroup: n.cgroup, Key: n.key}}))
	n.must(t, n.StoreVIPs(n.ctx, []virtualip.Row{row}))
	n.must(t, n.SetTrusted(n.ctx, []netip.Addr{server}))
	return n
}

func (n *node) must(t fatal, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// resolve asks a server and returns what the Pod sees.
func (n *node) resolve(t fatal, from netip.Addr, name string) netip.Addr {
	t.Helper()
	q := question(t, 7, name)
	n.must(t, n.Ask(n.pid, from, port, q))
	a, err := n.Deliver(n.pid, from, port, truth(t, q))
	n.must(t, err)
	return read(t, q, a)[0]
}

var master = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// dial connects and returns both ends.
func (n *node) dial(t fatal, to netip.Addr, edit func(*kernel.Dial)) (*kernel.Socket, *kernel.Peer) {
	t.Helper()
	d := kernel.Dial{PID: n.pid, Destination: netip.AddrPortFrom(to, 443), ServerName: "a.com", Suite: kernel.AESGCM, Master: master, Sequence: 1<<32 - 50}
	if edit != nil {
		edit(&d)
	}
	s, err := n.Connect(d)
	n.must(t, err)
	p, err := kernel.NewPeer(master)
	n.must(t, err)
	return s, p
}

// send writes a text in one piece; it returns what the peer reads, and makes sure that a
// tap in the Pod sees the text as it was written.
func (n *node) send(t *testing.T, s *kernel.Socket, p *kernel.Peer, text string) string {
	t.Helper()
	end, err := s.Write(n.pid, lib, []byte(text))
	n.must(t, err)
	inside, wire := s.Leave(0, end)
	tap, err := kernel.NewPeer(master)
	n.must(t, err)
	if got, err := tap.Receive(inside); err != nil || string(got) != text {
		t.Errorf("within the Pod there is %q, %v", got, err)
	}
	got, err := p.Receive(wire)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// The flow of section 1, and each thing without which the placeholder leaves as it is.
func TestWhenTheValueLeaves(t *testing.T) {
	const text = "GET / HTTP/1.1\r\nAuthorization: Bearer " + shown + "\r\n\r\n"
	for _, tc := range []struct {
		row    string
		before func(t *testing.T, n *node)
		dial   func(*kernel.Dial)
		direct bool // the real address, without asking a server
		want   bool
		why    policy.Reason
	}{
		{row: "all is well", want: true},
		{row: "the real address", direct: true, why: policy.HostMismatch},
		{row: "another port", dial: func(d *kernel.Dial) { d.Destination = netip.AddrPortFrom(d.Destination.Addr(), 8443) }, why: policy.PortMismatch},
		{row: "another name in the handshake", dial: func(d *kernel.Dial) { d.ServerName = "b.com" }, why: policy.HostMismatch},
		{row: "another cipher", dial: func(d *kernel.Dial) { d.Suite = kernel.Other }, why: "cipher"},
		{row: "no grant", before: func(t *testing.T, n *node) {
			n.must(t, n.SetACL(n.ctx, []policy.Grant{{Cgroup: n.cgroup, Key: n.key}}, nil))
		}, why: policy.NoACL},
		{row: "no entry", before: func(t *testing.T, n *node) { n.must(t, n.DeleteEntry(n.ctx, n.key)) }},
		{row: "not tracked", before: func(t *testing.T, n *node) { n.must(t, n.UntrackCgroup(n.ctx, n.cgroup)) }},
		{row: "not attached", before: func(t *testing.T, n *node) { n.Lose(n.netns) }},
		{row: "the host is retained", before: func(t *testing.T, n *node) {
			n.resolve(t, server, "a.com")
			retained := row
			retained.State = virtualip.Retained
			n.must(t, n.StoreVIPs(n.ctx, []virtualip.Row{retained}))
		}, why: policy.HostMismatch},
	} {
		n := newNode(t)
		to := row.V4
		if tc.direct {
			to = real1
		} else {
			n.resolve(t, server, "a.com")
		}
		if tc.before != nil {
			tc.before(t, n)
		}
		s, p := n.dial(t, to, tc.dial)
		if s.Remote().Addr() != real1 {
			t.Errorf("%s: goes to %s", tc.row, s.Remote())
		}
		want := text
		if tc.want {
			want = strings.Replace(text, shown, value, 1)
		}
		if got := n.send(t, s, p, text); got != want {
			t.Errorf("%s: arrives as %q", tc.row, got)
		}
		if tc.why != "" && n.Count(tc.why) != 1 {
			t.Errorf("%s: %s was counted %d times", tc.row, tc.why, n.Count(tc.why))
		}
	}
}

// S32: loss, repetition and other cuts; nobody sees a broken record.
func TestSegments(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newNode(rt)
		n.resolve(rt, server, "a.com")
		s, p := n.dial(rt, row.V4, nil)
		var want []byte
		end, una := 0, 0
		for i := range rapid.IntRange(1, 5).Draw(rt, "writes") {
			text := strings.Repeat("x", rapid.IntRange(0, 300).Draw(rt, "before")) + shown + strings.Repeat("y", i)
			want = append(want, strings.ReplaceAll(text, shown, value)...)
			var err error
			end, err = s.Write(n.pid, lib, []byte(text))
			n.must(rt, err)
		}
		var got []byte
		for una < end {
			from := rapid.IntRange(una, end-1).Draw(rt, "from")
			to := rapid.IntRange(from+1, min(end, from+100)).Draw(rt, "to")
			_, wire := s.Leave(from, to)
			if from == una && rapid.Bool().Draw(rt, "arrives") {
				text, err := p.Receive(wire)
				n.must(rt, err)
				got, una = append(got, text...), to
				s.Acked(una)
			}
		}
		if !bytes.Equal(got, want) {
			rt.Fatalf("%q, want %q", got, want)
		}
	})
}

// I5: what is attached while a record leaves does not change the rest of it, and what
// belongs to a Pod that has ended does not leave.
func TestInTheMiddleOfARecord(t *testing.T) {
	n := newNode(t)
	n.resolve(t, server, "a.com")
	n.Lose(n.netns)
	s, p := n.dial(t, row.V4, nil)
	end, err := s.Write(n.pid, lib, []byte("x"+shown))
	n.must(t, err)
	_, first := s.Leave(0, 10)
	_, err = n.AttachNetns(n.ctx, n.path)
	n.must(t, err)
	_, second := s.Leave(10, end)
	if text, err := p.Receive(append(first, second...)); err != nil || string(text) != "x"+shown {
		t.Errorf("%q, %v", text, err)
	}
	if err := n.DetachNetns(n.ctx, n.netns); !errors.Is(err, plane.ErrBusy) {
		t.Errorf("detached while a process is there: %v", err)
	}
	n.RemoveCgroup(n.cgroup)
	n.must(t, n.DetachNetns(n.ctx, n.netns))
	if inside, wire := s.Leave(0, 10); inside != nil || wire != nil {
		t.Error("it leaves though its Pod has ended")
	}
}

// What outlives an agent, and what a reboot ends.
func TestReboot(t *testing.T) {
	n := newNode(t)
	n.Reboot()
	entries, err := n.Entries(n.ctx)
	rows, errRows := n.LoadVIPs(n.ctx)
	if len(entries)+len(rows) != 0 || err != nil || errRows != nil {
		t.Errorf("%v, %v, %v, %v", entries, rows, err, errRows)
	}
	if _, err := n.FindCgroup(n.ctx, "uid", "container"); !errors.Is(err, plane.ErrNoProcess) {
		t.Error(err)
	}
}

// Calls can fail before they have an effect, or seem to after.
func TestConduct(t *testing.T) {
	broken := errors.New("broken")
	var before, after error
	k := kernel.New(kernel.Options{
		Conduct: func(context.Context, string) error { return before }, Done: func(context.Context, string) error { return after },
	})
	ctx := t.Context()
	before = broken
	if err := k.TrackCgroup(ctx, 1); !errors.Is(err, broken) {
		t.Error(err)
	}
	before, after = nil, broken
	if err := k.StoreVIPs(ctx, []virtualip.Row{row}); !errors.Is(err, broken) {
		t.Error(err)
	}
	after = nil
	if rows, err := k.LoadVIPs(ctx); len(rows) != 1 || err != nil {
		t.Errorf("a call whose answer was lost had no effect: %v, %v", rows, err)
	}
}

// S21 and I14: an agent with another layout of maps finds the virtual IPs and nothing else,
// and replaces the programs of before one by one.
func TestUpgrade(t *testing.T) {
	n := newNode(t)
	n.resolve(t, server, "a.com")
	p := n.PlaneOf(1, unwatched{})
	entries, err := p.Entries(n.ctx)
	n.must(t, err)
	rows, err := p.LoadVIPs(n.ctx)
	n.must(t, err)
	if len(entries) != 0 || len(rows) != 1 || len(n.Real()) != 1 || len(n.Trusted()) != 0 {
		t.Errorf("%v, %v, %v, %v", entries, rows, n.Real(), n.Trusted())
	}
	before := n.Generation()
	if _, err := p.AttachNetns(n.ctx, n.path); err != nil || n.Programs()[n.netns] != 1 || n.Generation() == before {
		t.Errorf("%v, %v", n.Programs(), err)
	}
	if same := n.PlaneOf(1, unwatched{}); same == nil || len(n.Programs()) != 1 {
		t.Error("the same layout changes what is attached")
	}
}

// unwatched is a clock that nobody looks at.
type unwatched struct{ clock.Clock }

func (unwatched) NewSignal() clock.Signal { return nil }
