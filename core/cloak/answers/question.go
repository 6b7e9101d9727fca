package answers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Sizes of what is looked at.
const (
	// PacketMax is the longest packet that is parsed: what fits into a frame.
	PacketMax = 1472

	// RecordsMax is how many records of an answer are parsed; the rest is cut off.
	RecordsMax = 32

	headerSize = 12
	nameMax    = 255 // with the lengths of its labels
	labelMax   = 63

	recursionDesired = 1 // in the third byte
)

// Types of records that count.
const (
	TypeA     uint16 = 1
	TypeAAAA  uint16 = 28
	TypeSVCB  uint16 = 64
	TypeHTTPS uint16 = 65

	classIN uint16 = 1
)

// ErrUnparsed is returned for what is no packet that is understood. It passes as it is.
var ErrUnparsed = errors.New("not understood")

// Question is what is asked.
type Question struct {
	ID   uint16
	Name string // in lower case, without the dot at its end
	Type uint16
}

// Pack returns the query that asks it. The name must be one of DNS.
func (q Question) Pack() ([]byte, error) {
	packet := binary.BigEndian.AppendUint16(nil, q.ID)
	packet = append(packet, recursionDesired, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	for label := range strings.SplitSeq(q.Name, ".") {
		if len(label) == 0 || len(label) > labelMax {
			return nil, fmt.Errorf("%q is no name of DNS: each part of it has 1 to %d bytes", q.Name, labelMax)
		}
		packet = append(append(packet, byte(len(label))), label...)
	}
	packet = append(packet, 0)
	if len(packet)-headerSize > nameMax {
		return nil, fmt.Errorf("%q is no name of DNS: it is longer than %d bytes", q.Name, nameMax)
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(packet, q.Type), classIN), nil
}

// ParseQuestion returns the question of a packet, of a query as well as of an answer. A
// packet must have one question, of class IN.
func ParseQuestion(packet []byte) (Question, error) {
	q, _, err := question(packet)
	return q, err
}

// question returns the question, and where the records behind it begin.
func question(packet []byte) (q Question, end int, err error) {
	if len(packet) < headerSize || len(packet) > PacketMax || binary.BigEndian.Uint16(packet[4:]) != 1 {
		return q, 0, ErrUnparsed
	}
	var name strings.Builder
	at := headerSize
	for {
		if at >= len(packet) {
			return q, 0, ErrUnparsed
		}
		n := int(packet[at])
		if at++; n == 0 {
			break
		}
		// A question comes first, so its name cannot point to another.
		if n > labelMax || at+n > len(packet) || at+n-headerSize > nameMax {
			return q, 0, ErrUnparsed
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		for _, b := range packet[at : at+n] {
			if b == '.' {
				return q, 0, ErrUnparsed // it would look like another name
			}
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			name.WriteByte(b)
		}
		at += n
	}
	if at+4 > len(packet) || binary.BigEndian.Uint16(packet[at+2:]) != classIN {
		return q, 0, ErrUnparsed
	}
	q = Question{ID: binary.BigEndian.Uint16(packet), Name: name.String(), Type: binary.BigEndian.Uint16(packet[at:])}
	return q, at + 4, nil
}
