package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Family is which addresses are asked for.
type Family dnsmessage.Type

// The families of addresses, and the hints of services.
const (
	IPv4     = Family(dnsmessage.TypeA)
	IPv6     = Family(dnsmessage.TypeAAAA)
	Services = Family(dnsmessage.TypeHTTPS)
)

// Why a resolver has no address.
var (
	ErrNoAddress = errors.New("no address")
	ErrOther     = errors.New("not the answer to what was asked")
)

// Resolver is the stub resolver of an application. It believes whoever answers, if the
// numbers fit.
type Resolver struct {
	// Forever is whether it keeps an answer for as long as the application runs, as some
	// virtual machines do; otherwise it keeps none.
	Forever bool

	kept map[string][]netip.Addr
}

// Kept returns the addresses that it remembers.
func (r *Resolver) Kept(name string) ([]netip.Addr, bool) {
	addrs, ok := r.kept[canonical(name)]
	return addrs, ok
}

// Query makes a query. The letters of the name have any case, as resolvers write it to be
// harder to forge for; odd says of each whether it is a capital.
func (r *Resolver) Query(id uint16, name string, family Family, odd func() bool) ([]byte, error) {
	cased := strings.Map(func(c rune) rune {
		if odd() {
			return []rune(strings.ToUpper(string(c)))[0]
		}
		return c
	}, name)
	n, err := dnsmessage.NewName(cased + ".")
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", name, err)
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: n, Type: dnsmessage.Type(family), Class: dnsmessage.ClassINET}},
	}
	return m.Pack()
}

// Read takes an answer to a query, and returns the addresses in it. One to another query
// is no answer, and the resolver goes on waiting.
func (r *Resolver) Read(query, answer []byte) ([]netip.Addr, error) {
	var q, a dnsmessage.Message
	if err := errors.Join(q.Unpack(query), a.Unpack(answer)); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if a.ID != q.ID || !a.Response || len(a.Questions) != 1 || a.Questions[0] != q.Questions[0] {
		return nil, ErrOther
	}
	var addrs []netip.Addr
	for _, record := range a.Answers {
		switch b := record.Body.(type) {
		case *dnsmessage.AResource:
			addrs = append(addrs, netip.AddrFrom4(b.A))
		case *dnsmessage.AAAAResource:
			addrs = append(addrs, netip.AddrFrom16(b.AAAA))
		case *dnsmessage.HTTPSResource:
			hint, _ := b.GetParam(dnsmessage.SVCParamIPv4Hint)
			if a, ok := netip.AddrFromSlice(hint); ok {
				addrs = append(addrs, a)
			}
		}
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%s: %w", q.Questions[0].Name.String(), ErrNoAddress)
	}
	if r.Forever {
		if r.kept == nil {
			r.kept = map[string][]netip.Addr{}
		}
		r.kept[canonical(q.Questions[0].Name.String())] = addrs
	}
	return addrs, nil
}

// Forge makes an answer as a server would give it: to a query that was seen, or guessed
// at.
func Forge(query []byte, addrs ...netip.Addr) ([]byte, error) {
	s := Server{Zone: &Zone{}, Lie: addrs}
	all, err := s.Answer(query)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Renumber changes the number of a query or an answer, for somebody who has to guess it.
func Renumber(packet []byte, id uint16) []byte {
	out := append([]byte(nil), packet...)
	out[0], out[1] = byte(id>>8), byte(id)
	return out
}

// minute is the usual time to live.
const minute = time.Minute

// Simple is the record of a name with addresses.
func Simple(addrs ...netip.Addr) Record { return Record{Addrs: addrs, TTL: minute} }
