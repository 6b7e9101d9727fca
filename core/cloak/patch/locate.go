package patch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// PlaintextMax is how much text a record holds at most: longer writes are split.
	PlaintextMax = 16384

	// RecordsMax is how many records of one buffer are looked at.
	RecordsMax = 16

	header          = 5
	nonce           = 8 // explicit, in TLS 1.2
	tag             = 16
	innerType       = 1 // behind the text, in TLS 1.3
	applicationData = 0x17
	changeCipher    = 0x14 // the first type of a record; the last is applicationData
)

// Version is the version of TLS. The zero Version is not known.
type Version uint16

// The versions that are patched.
const (
	TLS12 Version = 0x303
	TLS13 Version = 0x304
)

// Why a write cannot be found in what is sent; [Locate] wraps one of them.
var (
	ErrNoRecord  = errors.New("no record has the length of what was written")
	ErrAmbiguous = errors.New("more than one record has the length of what was written")
)

// Part is a record in a buffer, and which part of a write it holds.
type Part struct {
	From, Length int // of the text, in the write

	At     int // the header of the record, in the buffer
	Cipher int // where the ciphertext begins in the buffer
	N      int // its length
}

// Size is how many bytes the record has, with its header.
func (p Part) Size() int { return p.Cipher - p.At + p.N + tag }

// Locate finds the records that hold the rest of a write of total bytes, of which done
// have been sent before, in the buffer of a system call. Records are told by their
// lengths, for their content is encrypted; handshakes, alerts and records of other
// lengths may be in between.
//
// A record of TLS 1.3 with seven bytes of padding is as long as one of TLS 1.2. So the
// length of TLS 1.2 only counts where the version is known.
func Locate(buf []byte, total, done int, version Version) ([]Part, error) {
	data, err := walk(buf, version)
	if err != nil {
		return nil, err
	}
	var found []Part
	for i := range data {
		run := follow(data[i:], total, done)
		if run == nil {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: of %d records", ErrAmbiguous, len(data))
		}
		found = run
	}
	if found == nil {
		return nil, fmt.Errorf("%w: of %d records", ErrNoRecord, len(data))
	}
	return found, nil
}

// follow takes the records for the next pieces of a write, as far as there are both.
func follow(data []Part, total, done int) []Part {
	var run []Part
	for _, p := range data {
		want := min(total-done, PlaintextMax)
		if want <= 0 {
			break
		}
		if p.Length != want {
			return nil
		}
		p.From, done = done, done+want
		run = append(run, p)
	}
	return run
}

// walk returns the records of application data in a buffer, which must hold nothing
// but whole records as far as it is looked at.
func walk(buf []byte, version Version) ([]Part, error) {
	var data []Part
	for at, n := 0, 0; at < len(buf) && n < RecordsMax; n++ {
		if len(buf)-at < header || buf[at] < changeCipher || buf[at] > applicationData || buf[at+1] != 3 {
			return nil, fmt.Errorf("%w: there is no record at byte %d", ErrNoRecord, at)
		}
		length := int(binary.BigEndian.Uint16(buf[at+3:]))
		end := at + header + length
		if end > len(buf) {
			return nil, fmt.Errorf("%w: the record at byte %d is not whole", ErrNoRecord, at)
		}
		before, behind := 0, innerType
		if version == TLS12 {
			before, behind = nonce, 0
		}
		if text := length - before - behind - tag; buf[at] == applicationData && text > 0 {
			data = append(data, Part{Length: text, At: at, Cipher: at + header + before, N: text + behind})
		}
		at = end
	}
	return data, nil
}
