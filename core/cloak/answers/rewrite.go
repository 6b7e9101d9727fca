package answers

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
)

const (
	// ttlMax is how long a virtual IP may be kept: the host may soon need it no more.
	ttlMax = time.Minute
	ttlMin = time.Second
)

// Real is a real address of a host, as an answer had it.
type Real struct {
	Addr netip.Addr
	TTL  time.Duration
}

// Rewrite puts the virtual IPs of a host into an answer about it, in place, and returns
// the answer, which may be shorter, and the real addresses that were in it:
//
//  1. what is no answer, or says that it has failed or was cut short, stays;
//  2. each address becomes the virtual IP of its family, and its time to live is at most a
//     minute; names stay;
//  3. without a virtual IP of a family, there are no addresses of it: no answer with a
//     real one is let through;
//  4. records of services (SVCB, HTTPS) hold addresses in another form: there are none;
//  5. what comes after the first [RecordsMax] records is cut off.
//
// The checksum is the caller's business. An error means that the packet was not
// understood and is as it was.
func Rewrite(packet []byte, v4, v6 netip.Addr) ([]byte, []Real, error) {
	q, at, err := question(packet)
	if err != nil {
		return packet, nil, err
	}
	if !positive(packet) {
		return packet, nil, nil
	}
	if q.Type == TypeSVCB || q.Type == TypeHTTPS || q.Type == TypeA && !v4.IsValid() || q.Type == TypeAAAA && !v6.IsValid() {
		return nothing(packet[:at]), nil, nil
	}
	records, err := parse(packet, at)
	if err != nil {
		return packet, nil, err
	}
	var real []Real
	for _, r := range records.list {
		data := packet[r.data : r.data+r.length]
		switch {
		case r.kind == TypeA && v4.IsValid():
			real = append(real, Real{netip.AddrFrom4([4]byte(data)), r.ttl(packet)})
			b := v4.As4()
			copy(data, b[:])
		case r.kind == TypeAAAA && v6.IsValid():
			real = append(real, Real{netip.AddrFrom16([16]byte(data)), r.ttl(packet)})
			b := v6.As16()
			copy(data, b[:])
		case r.kind == TypeA || r.kind == TypeAAAA || r.kind == TypeSVCB || r.kind == TypeHTTPS:
			return nothing(packet[:at]), nil, nil // what was not asked for has real addresses
		default:
			continue
		}
		binary.BigEndian.PutUint32(packet[r.data-6:], uint32(max(ttlMin, min(ttlMax, r.ttl(packet)))/time.Second))
	}
	return records.cut(packet), real, nil
}

// ErrOther is returned for what does not answer a question.
var ErrOther = errors.New("not the answer to the question")

// Addresses returns the real addresses in the answer to a question that the cloak itself
// has asked, as many as are looked at; none if the host has none of that kind. An answer
// that says that it has failed, or was cut short, is an error.
func Addresses(packet []byte, asked Question) ([]Real, error) {
	q, at, err := question(packet)
	switch {
	case err != nil:
		return nil, err
	case q != asked || !positive(packet):
		return nil, ErrOther
	}
	records, err := parse(packet, at)
	if err != nil {
		return nil, err
	}
	var real []Real
	for _, r := range records.list[:records.count[0]] {
		if addr, ok := netip.AddrFromSlice(packet[r.data : r.data+r.length]); ok && r.kind == asked.Type {
			real = append(real, Real{addr, r.ttl(packet)})
		}
	}
	return real, nil
}

// positive reports whether a packet is an answer that says something: its first bit says
// that it is one, the code that it has not failed, and a third that it is whole.
func positive(packet []byte) bool {
	const response, truncated, code = 0x8000, 0x0200, 0x000f
	flags := binary.BigEndian.Uint16(packet[2:])
	return flags&response != 0 && flags&(truncated|code) == 0
}

// nothing makes what is left of an answer one without records.
func nothing(packet []byte) []byte {
	clear(packet[6:headerSize])
	return packet
}

// record is where a record is in a packet.
type record struct {
	kind         uint16
	data, length int
}

func (r record) ttl(packet []byte) time.Duration {
	return time.Duration(binary.BigEndian.Uint32(packet[r.data-6:])) * time.Second
}

// records are those of an answer that count.
type records struct {
	list  []record
	count [3]uint16 // of each section
	end   int
}

// parse finds the records of all sections, at most RecordsMax.
func parse(packet []byte, at int) (out records, err error) {
	for section := range out.count {
		n := binary.BigEndian.Uint16(packet[6+2*section:])
		for ; out.count[section] < n && len(out.list) < RecordsMax; out.count[section]++ {
			if at = skipName(packet, at); at < 0 || at+10 > len(packet) {
				return out, ErrUnparsed
			}
			r := record{kind: binary.BigEndian.Uint16(packet[at:]), data: at + 10, length: int(binary.BigEndian.Uint16(packet[at+8:]))}
			sized := r.kind != TypeA && r.kind != TypeAAAA || r.kind == TypeA && r.length == 4 || r.kind == TypeAAAA && r.length == 16
			if at = r.data + r.length; at > len(packet) || !sized {
				return out, ErrUnparsed
			}
			out.list = append(out.list, r)
		}
	}
	out.end = at
	return out, nil
}

// cut takes off what was not looked at.
func (r *records) cut(packet []byte) []byte {
	for section, n := range r.count {
		binary.BigEndian.PutUint16(packet[6+2*section:], n)
	}
	return packet[:r.end]
}

// skipName returns where a name ends, which may end in a pointer to another; negative if
// it does not end.
func skipName(packet []byte, at int) int {
	const pointer = 0xc0
	for at < len(packet) {
		switch n := int(packet[at]); {
		case n == 0:
			return at + 1
		case n&pointer == pointer:
			return at + 2
		case n > labelMax:
			return -1
		default:
			at += 1 + n
		}
	}
	return -1
}
