package policy_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/core/cloak/policy"
)

// Section 2.1, getkloak.io/hosts. What is refused leaves no host, section 6 I9.
func TestParseHosts(t *testing.T) {
	long := strings.Repeat("a", 59) + ".com"
	for _, tc := range []struct{ text, want, err string }{
		{"", "*", ""}, {"*", "*", ""},
		{"api.example.com", "api.example.com", ""},
		{"localhost", "localhost", ""},
		{"x-1.example.com", "x-1.example.com", ""},
		{"10.1.2.3", "10.1.2.3", ""}, {"::ffff:10.1.2.3", "10.1.2.3", ""}, {"2001:DB8::1", "2001:db8::1", ""},
		{long, long, ""},
		{"a" + long, "", "64 bytes and may have 63"},
		{"API.example.com", "", "lower case"},
		{"a.com,b.com", "", "one host without spaces"}, {" a.com", "", "one host without spaces"}, {"a.com\n", "", "one host without spaces"},
		{"*.example.com", "", "wildcard"}, {"**", "", "wildcard"},
		{"https://a.com", "", "without scheme"}, {"a.com:443", "", "without scheme"}, {"a.com/x", "", "without scheme"},
		{"fe80::1%eth0", "", "without a zone"}, {"[::1]", "", "without scheme"},
		{"a_b.com", "", "letters, digits"}, {"-a.com", "", "letters, digits"}, {"a..com", "", "letters, digits"}, {"a.com.", "", "letters, digits"},
		{"256.1.1.1", "", "does not end in a number"}, {"10.1", "", "does not end in a number"}, {"7", "", "does not end in a number"},
		{"bücher.example", "", "letters, digits"}, {"\xff.com", "", "letters, digits"},
	} {
		hosts, err := policy.ParseHosts(tc.text)
		if tc.err == "" && err != nil || tc.err != "" && (!errors.Is(err, policy.ErrHost) || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.err)
		}
		if got := hosts.String(); got != tc.want {
			t.Errorf("%q is read as %q, want %q", tc.text, got, tc.want)
		}
		if err != nil && (hosts.Any() || len(hosts.List()) > 0) {
			t.Errorf("%q is refused and permits %s", tc.text, hosts)
		}
	}
}

// Section 2.1, getkloak.io/port. An invalid port is no port, not any port (section 7).
func TestParsePort(t *testing.T) {
	for _, tc := range []struct{ text, want, err string }{
		{"", "", ""}, {"  ", "", ""},
		{"443", "443/tcp", ""}, {" 443 ", "443/tcp", ""}, {"443/tcp", "443/tcp", ""}, {"443 / tcp", "443/tcp", ""}, {"53/udp", "53/udp", ""},
		{"1", "1/tcp", ""}, {"65535", "65535/tcp", ""}, {"0443", "443/tcp", ""},
		{"0", "none", "from 1 to 65535"}, {"65536", "none", "from 1 to 65535"}, {"99999999999999999999", "none", "from 1 to 65535"},
		{"-1", "none", "from 1 to 65535"}, {"+443", "none", "from 1 to 65535"}, {"https", "none", "from 1 to 65535"}, {"4 43", "none", "from 1 to 65535"},
		{"443,8443", "none", "from 1 to 65535"}, {"*", "none", "from 1 to 65535"}, {"/tcp", "none", "from 1 to 65535"},
		{"443/", "none", "tcp or udp"}, {"443/TCP", "none", "tcp or udp"}, {"443/sctp", "none", "tcp or udp"}, {"443/tcp/x", "none", "tcp or udp"},
	} {
		port, err := policy.ParsePort(tc.text)
		if tc.err == "" && err != nil || tc.err != "" && (!errors.Is(err, policy.ErrPort) || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.err)
		}
		if got := port.String(); got != tc.want {
			t.Errorf("%q is read as %q, want %q", tc.text, got, tc.want)
		}
		if err != nil && port != (policy.Port{}) {
			t.Errorf("%q is refused and permits %s", tc.text, port)
		}
	}
}

// Covers says what Decide does: a rule that covers another permits all that it permits.
func TestCoversAgreesWithDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, s := rules.Draw(t, "a"), rules.Draw(t, "b"), sockets.Draw(t, "socket")
		if a.Covers(b) && decide(b, s).Allow && !decide(a, s).Allow {
			t.Fatalf("%v covers %v, and permits less", a, b)
		}
		if !a.Covers(a) || a.Equal(b) && !a.Covers(b) {
			t.Fatalf("%v does not cover itself", a)
		}
	})
	any := policy.Rule{Hosts: policy.AnyHost, Port: policy.AnyPort}
	for _, tc := range []struct {
		a, b policy.Rule
		want bool
	}{
		{any, rule("a.com", "443"), true}, {rule("a.com", "443"), any, false},
		{rule("a.com", ""), rule("a.com", "443"), true}, {rule("a.com", "443"), rule("a.com", ""), false},
		{rule("a.com", "443"), rule("b.com", "443"), false}, {rule("a.com", "443"), policy.Rule{}, true},
		{policy.Rule{}, rule("a.com", "443"), false}, {rule("a.com", "443"), rule("", "443"), false},
		{policy.Rule{}, rule("a.com", "443/udp"), true},
	} {
		if got := tc.a.Covers(tc.b); got != tc.want {
			t.Errorf("%v covers %v: %t", tc.a, tc.b, got)
		}
	}
}
