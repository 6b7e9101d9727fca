package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// HostLengthMax is the longest host name that a rule can have.
const HostLengthMax = 63

// What is wrong with an annotation; the errors of ParseHosts and ParsePort wrap one of
// them.
var (
	ErrHost = errors.New("not a host")
	ErrPort = errors.New("not a port")
)

// Host is one host that a secret may go to: a name, or an address. The zero Host is
// none.
type Host struct {
	name string
	addr netip.Addr
}

// Name returns the name of a host, empty if it is an address.
func (h Host) Name() string { return h.name }

// Addr returns the address of a host, the zero one if it has a name.
func (h Host) Addr() netip.Addr { return h.addr }

// String is what the annotation says.
func (h Host) String() string {
	if h.name != "" {
		return h.name
	}
	return h.addr.String()
}

// Hosts are where a secret may go. The zero Hosts are none.
type Hosts struct {
	any  bool
	list []Host
}

// AnyHost is every destination.
var AnyHost = Hosts{any: true}

// Any reports whether every destination will do.
func (h Hosts) Any() bool { return h.any }

// List returns the hosts, none if every destination will do.
func (h Hosts) List() []Host { return slices.Clone(h.list) }

// String is what the annotation says.
func (h Hosts) String() string {
	if h.any {
		return "*"
	}
	names := make([]string, len(h.list))
	for i, host := range h.list {
		names[i] = host.String()
	}
	return strings.Join(names, ",")
}

// numeric is a name whose last label is a number, which is meant as an address.
var numeric = regexp.MustCompile(`(^|\.)[0-9]+$`)

// ParseHosts reads the annotation getkloak.io/hosts: one lower-case RFC 1123 name of at
// most 63 bytes, or one address; "*" or nothing is every destination. With an error
// there are no hosts.
func ParseHosts(text string) (Hosts, error) {
	refuse := func(hint string) (Hosts, error) {
		return Hosts{}, fmt.Errorf("%w: %s", ErrHost, hint)
	}
	switch {
	case text == "" || text == "*":
		return AnyHost, nil
	case strings.ContainsAny(text, ", \t\r\n"):
		return refuse("write one host without spaces")
	case strings.Contains(text, "*"):
		return refuse("a wildcard within a name is not supported; write one name, or * alone for every destination")
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" {
			return refuse("write the address without a zone")
		}
		return Hosts{list: []Host{{addr: addr.Unmap()}}}, nil
	}
	switch {
	case len(text) > HostLengthMax:
		return refuse(fmt.Sprintf("the name has %d bytes and may have %d at most", len(text), HostLengthMax))
	case strings.ContainsFunc(text, unicode.IsUpper):
		return refuse("write the name in lower case")
	case strings.Contains(text, ":") || strings.Contains(text, "/"):
		return refuse("write the host alone, without scheme, path or port; the port has its own annotation")
	case len(validation.IsDNS1123Subdomain(text)) > 0:
		return refuse("write a name of letters, digits, '-' and '.', such as api.example.com")
	case numeric.MatchString(text):
		return refuse("a name does not end in a number; write an address in full")
	}
	return Hosts{list: []Host{{name: text}}}, nil
}

// Protocol is what is under TLS.
type Protocol string

// The protocols of a port.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Port is the port that a secret may go to. The zero Port is none.
type Port struct {
	any      bool
	number   uint16
	protocol Protocol
}

// AnyPort is every port.
var AnyPort = Port{any: true}

// String is what the annotation says.
func (p Port) String() string {
	switch {
	case p.any:
		return ""
	case p.number == 0:
		return "none"
	}
	return fmt.Sprintf("%d/%s", p.number, p.protocol)
}

// ParsePort reads the annotation getkloak.io/port: PORT, PORT/tcp or PORT/udp. Nothing
// is every port. With an error there is none.
//
// A port of UDP is well-formed and permits nothing, since TLS over UDP is not
// supported.
func ParsePort(text string) (Port, error) {
	refuse := func(hint string) (Port, error) { return Port{}, fmt.Errorf("%w: %s", ErrPort, hint) }
	text = strings.TrimSpace(text)
	if text == "" {
		return AnyPort, nil
	}
	number, protocol, found := strings.Cut(text, "/")
	number, protocol = strings.TrimSpace(number), strings.TrimSpace(protocol)
	if !found {
		protocol = string(TCP)
	}
	if protocol != string(TCP) && protocol != string(UDP) {
		return refuse("after the slash, write tcp or udp")
	}
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return refuse("write a number from 1 to 65535, such as 443 or 443/tcp")
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return refuse("write a number from 1 to 65535")
	}
	return Port{number: uint16(n), protocol: Protocol(protocol)}, nil
}

// Rule is where a secret may go. The zero Rule permits nothing.
type Rule struct {
	Hosts Hosts
	Port  Port
}

// Equal reports whether both rules say the same.
func (r Rule) Equal(other Rule) bool {
	return r.Port == other.Port && r.Hosts.any == other.Hosts.any && slices.Equal(r.Hosts.list, other.Hosts.list)
}

// Covers reports whether the rule permits all that other permits.
func (r Rule) Covers(other Rule) bool {
	if other.empty() {
		return true
	}
	if !r.Port.any && r.Port != other.Port {
		return false
	}
	return r.Hosts.any || !other.Hosts.any && !slices.ContainsFunc(other.Hosts.list, func(h Host) bool {
		return !slices.Contains(r.Hosts.list, h)
	})
}

// empty reports whether the rule permits nothing.
func (r Rule) empty() bool {
	return !r.Hosts.any && len(r.Hosts.list) == 0 || !r.Port.any && (r.Port.number == 0 || r.Port.protocol != TCP)
}
