package dns

import (
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Server answers queries from a zone.
type Server struct {
	Addr netip.Addr
	Zone *Zone

	Down   bool         // it does not answer
	Doubly bool         // it answers twice
	Lie    []netip.Addr // what it says that every name has, if anything
}

// Answer returns the answers to a query, of which there may be none. A query that makes no
// sense has an error.
func (s *Server) Answer(query []byte) ([][]byte, error) {
	var q dnsmessage.Message
	if err := q.Unpack(query); err != nil {
		return nil, fmt.Errorf("query to %s: %w", s.Addr, err)
	}
	if s.Down || len(q.Questions) != 1 {
		return nil, nil
	}
	a, err := s.answer(q.Header.ID, q.Questions[0])
	if err != nil {
		return nil, fmt.Errorf("answer of %s: %w", s.Addr, err)
	}
	if s.Doubly {
		return [][]byte{a, append([]byte(nil), a...)}, nil
	}
	return [][]byte{a}, nil
}

func (s *Server) answer(id uint16, q dnsmessage.Question) ([]byte, error) {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, Response: true, RecursionDesired: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	r, known := s.Zone.Get(q.Name.String())
	if len(s.Lie) > 0 {
		r, known = Record{Addrs: s.Lie, TTL: time.Hour}, true
	}
	if !known {
		m.RCode = dnsmessage.RCodeNameError
		return m.Pack()
	}
	name := q.Name
	if r.Alias != "" {
		target, err := dnsmessage.NewName(r.Alias + ".")
		if err != nil {
			return nil, err
		}
		m.Answers = append(m.Answers, resource(name, r.TTL, &dnsmessage.CNAMEResource{CNAME: target}))
		name = target
	}
	for _, a := range r.Addrs {
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			m.Answers = append(m.Answers, resource(name, r.TTL, &dnsmessage.AResource{A: a.As4()}))
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			m.Answers = append(m.Answers, resource(name, r.TTL, &dnsmessage.AAAAResource{AAAA: a.As16()}))
		case q.Type == dnsmessage.TypeHTTPS && r.Services && a.Is4():
			body := &dnsmessage.HTTPSResource{SVCBResource: dnsmessage.SVCBResource{Priority: 1, Target: name}}
			body.SetParam(dnsmessage.SVCParamIPv4Hint, a.AsSlice())
			m.Answers = append(m.Answers, resource(name, r.TTL, body))
		}
	}
	return m.Pack()
}

func resource(name dnsmessage.Name, ttl time.Duration, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: uint32(ttl / time.Second)}, Body: body}
}
