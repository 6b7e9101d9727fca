package answers_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/seedbed-sim/seedbed/core/cloak/answers"
)

var (
	v4    = netip.MustParseAddr("198.18.0.1")
	v6    = netip.MustParseAddr("fd6b:6c6f:616b::1")
	real1 = netip.MustParseAddr("203.0.113.1")
	real6 = netip.MustParseAddr("2001:db8::1")
	none  netip.Addr

	byAddr = cmpopts.EquateComparable(netip.Addr{})
)

const host = "A.Example.com."

// resource makes a record of an address, with its time to live in seconds.
func resource(addr netip.Addr, ttl uint32) dnsmessage.Resource {
	h := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(host), Class: dnsmessage.ClassINET, TTL: ttl}
	if addr.Is4() {
		return dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}}
	}
	return dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}}
}

// other makes a record of another type.
func other(body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(host), Class: dnsmessage.ClassINET, TTL: 300}, Body: body}
}

func message(kind dnsmessage.Type, edit func(*dnsmessage.Message), records ...dnsmessage.Resource) dnsmessage.Message {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 77, Response: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(host), Type: kind, Class: dnsmessage.ClassINET}},
		Answers:   records,
	}
	if edit != nil {
		edit(&m)
	}
	return m
}

func pack(t testing.TB, m dnsmessage.Message) []byte {
	t.Helper()
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seen are the addresses and the times to live that a resolver finds in a packet.
func seen(t testing.TB, packet []byte) (out []answers.Real) {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil {
		t.Fatal(err)
	}
	for _, section := range [][]dnsmessage.Resource{m.Answers, m.Authorities, m.Additionals} {
		for _, r := range section {
			ttl := time.Duration(r.Header.TTL) * time.Second
			switch b := r.Body.(type) {
			case *dnsmessage.AResource:
				out = append(out, answers.Real{Addr: netip.AddrFrom4(b.A), TTL: ttl})
			case *dnsmessage.AAAAResource:
				out = append(out, answers.Real{Addr: netip.AddrFrom16(b.AAAA), TTL: ttl})
			}
		}
	}
	return out
}

// Section 3.3: what a Pod sees of an answer, and what the data plane learns from it.
func TestRewrite(t *testing.T) {
	const a, aaaa = dnsmessage.TypeA, dnsmessage.TypeAAAA
	many := func(n int) (list []dnsmessage.Resource) {
		for i := range n {
			list = append(list, resource(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), 30))
		}
		return list
	}
	svcb := other(&dnsmessage.UnknownResource{Type: dnsmessage.Type(answers.TypeHTTPS), Data: []byte{0, 1, 0, 0, 4, 0, 4, 203, 0, 113, 1}})
	for _, tc := range []struct {
		row    string
		m      dnsmessage.Message
		v4, v6 netip.Addr
		want   []answers.Real // that the Pod sees
		learnt []answers.Real
	}{
		{"an address", message(a, nil, resource(real1, 30)), v4, v6, []answers.Real{{v4, 30 * time.Second}}, []answers.Real{{real1, 30 * time.Second}}},
		{"of the other family", message(aaaa, nil, resource(real6, 30)), v4, v6, []answers.Real{{v6, 30 * time.Second}}, []answers.Real{{real6, 30 * time.Second}}},
		{"kept for a day", message(a, nil, resource(real1, 86400)), v4, v6, []answers.Real{{v4, time.Minute}}, []answers.Real{{real1, 24 * time.Hour}}},
		{"not to be kept", message(a, nil, resource(real1, 0)), v4, v6, []answers.Real{{v4, time.Second}}, []answers.Real{{real1, 0}}},
		{
			"behind another name", message(a, nil, other(&dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("cdn.example.net.")}), resource(real1, 30)),
			v4, v6, []answers.Real{{v4, 30 * time.Second}}, []answers.Real{{real1, 30 * time.Second}},
		},
		{
			"one that was not asked for", message(a, func(m *dnsmessage.Message) { m.Additionals = []dnsmessage.Resource{resource(real6, 30)} }, resource(real1, 30)),
			v4, v6, []answers.Real{{v4, 30 * time.Second}, {v6, 30 * time.Second}}, []answers.Real{{real1, 30 * time.Second}, {real6, 30 * time.Second}},
		},
		{"without a virtual IP of the family", message(aaaa, nil, resource(real6, 30)), v4, none, nil, nil},
		{"with both, without one of them", message(a, nil, resource(real1, 30), resource(real6, 30)), v4, none, nil, nil},
		{"of services", message(dnsmessage.Type(answers.TypeHTTPS), nil, svcb), v4, v6, nil, nil},
		{"with services by the way", message(a, nil, resource(real1, 30), svcb), v4, v6, nil, nil},
		{"that it does not exist", message(a, func(m *dnsmessage.Message) { m.RCode = dnsmessage.RCodeNameError }, resource(real1, 30)), v4, v6, []answers.Real{{real1, 30 * time.Second}}, nil},
		{"cut short", message(a, func(m *dnsmessage.Message) { m.Truncated = true }, resource(real1, 30)), v4, v6, []answers.Real{{real1, 30 * time.Second}}, nil},
		{"no answer", message(a, func(m *dnsmessage.Message) { m.Response = false }, resource(real1, 30)), v4, v6, []answers.Real{{real1, 30 * time.Second}}, nil},
		{"the most that is looked at", message(a, nil, many(answers.RecordsMax)...), v4, v6, nil, nil},
		{"one more", message(a, nil, many(answers.RecordsMax+1)...), v4, v6, nil, nil},
	} {
		got, learnt, err := answers.Rewrite(pack(t, tc.m), tc.v4, tc.v6)
		if err != nil {
			t.Errorf("%s: %v", tc.row, err)
		}
		is := seen(t, got)
		if n := len(tc.m.Answers); n >= answers.RecordsMax {
			if len(is) != answers.RecordsMax || len(learnt) != len(is) || is[len(is)-1].Addr != v4 {
				t.Errorf("%s: %d are seen, %d are learnt, the last is %v", tc.row, len(is), len(learnt), is[len(is)-1])
			}
			continue
		}
		if diff := cmp.Diff(tc.want, is, byAddr); diff != "" {
			t.Errorf("%s: the Pod sees (-want +got):\n%s", tc.row, diff)
		}
		if diff := cmp.Diff(tc.learnt, learnt, byAddr); diff != "" {
			t.Errorf("%s: is learnt (-want +got):\n%s", tc.row, diff)
		}
	}
}

// What is not understood passes as it is: none of it may be half rewritten.
func TestNotUnderstood(t *testing.T) {
	whole := pack(t, message(dnsmessage.TypeA, nil, resource(real1, 30), resource(real6, 30)))
	long := message(dnsmessage.TypeA, nil, other(&dnsmessage.UnknownResource{Type: 99, Data: make([]byte, answers.PacketMax)}))
	two := message(dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) })
	chaos := message(dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS })
	packets := [][]byte{nil, pack(t, long), pack(t, two), pack(t, chaos)}
	for n := range len(whole) {
		packets = append(packets, whole[:n])
	}
	for i, p := range packets {
		before := bytes.Clone(p)
		got, learnt, err := answers.Rewrite(p, v4, v6)
		if !errors.Is(err, answers.ErrUnparsed) || !bytes.Equal(got, before) || learnt != nil {
			t.Errorf("packet %d of %d bytes: %v, changed: %t", i, len(p), err, !bytes.Equal(got, before))
		}
	}
}

// A question is the same in any case of letters, and no other is.
func TestParseQuestion(t *testing.T) {
	q, err := answers.ParseQuestion(pack(t, message(dnsmessage.TypeA, nil)))
	if diff := cmp.Diff(answers.Question{ID: 77, Name: "a.example.com", Type: answers.TypeA}, q); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	dotted := pack(t, message(dnsmessage.TypeA, nil))
	dotted[bytes.IndexByte(dotted, 'E')] = '.' // a label that looks like two
	pointer := pack(t, message(dnsmessage.TypeA, nil))
	pointer[12] = 0xc0
	endless := append(bytes.Clone(pointer[:12]), bytes.Repeat([]byte("\x3f"+strings.Repeat("a", 63)), 5)...)
	for _, p := range [][]byte{dotted, pointer, endless} {
		if q, err := answers.ParseQuestion(p); !errors.Is(err, answers.ErrUnparsed) {
			t.Errorf("%v of %q: %v", q, p, err)
		}
	}
}

// FuzzRewrite makes sure that no packet that is understood lets an address through, and
// that one which is not stays as it is.
func FuzzRewrite(f *testing.F) {
	f.Add(pack(f, message(dnsmessage.TypeA, nil, resource(real1, 30), resource(real6, 30))))
	f.Add(pack(f, message(dnsmessage.TypeA, nil, other(&dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(host)}))))
	f.Fuzz(func(t *testing.T, packet []byte) {
		before := bytes.Clone(packet)
		got, learnt, err := answers.Rewrite(packet, v4, v6)
		if err != nil || learnt == nil {
			if err != nil && !bytes.Equal(got, before) {
				t.Error("it has changed")
			}
			return
		}
		var m dnsmessage.Message
		if m.Unpack(got) != nil {
			return // names that make no sense
		}
		for _, r := range seen(t, got) {
			if r.Addr != v4 && r.Addr != v6 {
				t.Errorf("%s is let through", r.Addr)
			}
		}
	})
}

// S19: what the cloak asks itself.
func TestPack(t *testing.T) {
	q := answers.Question{ID: 0x1234, Name: "a.example.com", Type: answers.TypeAAAA}
	packet, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil {
		t.Fatal(err)
	}
	want := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 0x1234, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("a.example.com."), Type: dnsmessage.TypeAAAA, Class: dnsmessage.ClassINET}},
	}
	if diff := cmp.Diff(want.GoString(), m.GoString()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, err := answers.ParseQuestion(packet); err != nil || got != q {
		t.Errorf("parsed as %+v, %v", got, err)
	}
	for _, name := range []string{"", "a..b", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a"} {
		if _, err := (answers.Question{Name: name}).Pack(); (err == nil) != (name == strings.Repeat("a.", 126)+"a") {
			t.Errorf("%q is packed: %v", name, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	const a = dnsmessage.TypeA
	asked := answers.Question{ID: 77, Name: "a.example.com", Type: answers.TypeA}
	alias := other(&dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("cdn.example.net.")})
	for _, tc := range []struct {
		row   string
		m     dnsmessage.Message
		asked answers.Question
		want  []answers.Real
		err   error
	}{
		{"an address", message(a, nil, resource(real1, 30)), asked, []answers.Real{{Addr: real1, TTL: 30 * time.Second}}, nil},
		{"behind another name", message(a, nil, alias, resource(real1, 30)), asked, []answers.Real{{Addr: real1, TTL: 30 * time.Second}}, nil},
		{"of the other family", message(a, nil, resource(real6, 30)), asked, nil, nil},
		{"by the way", message(a, func(m *dnsmessage.Message) { m.Additionals = []dnsmessage.Resource{resource(real1, 30)} }), asked, nil, nil},
		{"that it does not exist", message(a, func(m *dnsmessage.Message) { m.RCode = dnsmessage.RCodeNameError }), asked, nil, answers.ErrOther},
		{"cut short", message(a, func(m *dnsmessage.Message) { m.Truncated = true }, resource(real1, 30)), asked, nil, answers.ErrOther},
		{"a question", message(a, func(m *dnsmessage.Message) { m.Response = false }, resource(real1, 30)), asked, nil, answers.ErrOther},
		{"of another number", message(a, func(m *dnsmessage.Message) { m.ID = 78 }, resource(real1, 30)), asked, nil, answers.ErrOther},
		{"about another host", message(a, nil, resource(real1, 30)), answers.Question{ID: 77, Name: "b.example.com", Type: answers.TypeA}, nil, answers.ErrOther},
		{"about another kind", message(a, nil, resource(real1, 30)), answers.Question{ID: 77, Name: "a.example.com", Type: answers.TypeAAAA}, nil, answers.ErrOther},
	} {
		got, err := answers.Addresses(pack(t, tc.m), tc.asked)
		if diff := cmp.Diff(tc.want, got, byAddr); diff != "" || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v (-want +got)\n%s", tc.row, err, diff)
		}
	}
	if _, err := answers.Addresses([]byte("noise"), asked); !errors.Is(err, answers.ErrUnparsed) {
		t.Errorf("noise: %v", err)
	}
}
