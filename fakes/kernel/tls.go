package kernel

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
)

// Suite is the cipher of a TLS connection.
type Suite string

// The suites. Of those without AES-GCM nothing is known but that they cannot be
// patched; here they are AES-GCM whose hash key cannot be read.
const (
	AESGCM Suite = "AES-GCM"
	Other  Suite = "other"
)

// session is one direction of a TLS 1.3 connection.
type session struct {
	aead   cipher.AEAD
	key    patch.Element // the hash key
	iv     [12]byte
	sealed uint64 // records
	opened uint64
}

const recordHeader, recordType = 5, 0x17

// newSession returns a session whose keys come from a secret that both ends know.
func newSession(master [16]byte) (*session, error) {
	block, err := aes.NewCipher(master[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	s := &session{aead: aead}
	var h [16]byte
	block.Encrypt(h[:], h[:])
	s.key = patch.NewElement(h)
	copy(s.iv[:], master[4:])
	return s, nil
}

func (s *session) nonce(number uint64) []byte {
	nonce := s.iv
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^number)
	return nonce[:]
}

// seal returns the records of a text.
func (s *session) seal(text []byte) (records []byte) {
	for len(text) > 0 {
		n := min(len(text), patch.PlaintextMax)
		inner := append(append([]byte(nil), text[:n]...), recordType)
		header := []byte{recordType, 3, 3, 0, 0}
		binary.BigEndian.PutUint16(header[3:], uint16(len(inner)+s.aead.Overhead()))
		records = append(records, header...)
		records = s.aead.Seal(records, s.nonce(s.sealed), inner, header)
		s.sealed++
		text = text[n:]
	}
	return records
}

// errMAC is what a receiver says of a record whose tag is wrong.
var errMAC = errors.New("bad record MAC")

// open takes whole records from the front of a stream, and returns their text and what
// is left.
func (s *session) open(stream []byte) (text, rest []byte, err error) {
	for len(stream) >= recordHeader {
		end := recordHeader + int(binary.BigEndian.Uint16(stream[3:]))
		if len(stream) < end {
			break
		}
		inner, err := s.aead.Open(nil, s.nonce(s.opened), stream[recordHeader:end], stream[:recordHeader])
		if err != nil {
			return nil, nil, fmt.Errorf("record %d: %w", s.opened, errMAC)
		}
		s.opened++
		text = append(text, inner[:len(inner)-1]...)
		stream = stream[end:]
	}
	return text, stream, nil
}
