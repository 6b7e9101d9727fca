package patch_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/seedbed-sim/seedbed/core/cloak/patch"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// session is one direction of a TLS connection, with the AES-GCM of the standard
// library: what a sender writes and a receiver accepts.
type session struct {
	aead    cipher.AEAD
	key     patch.Element // the hash key, AES_K(0)
	version patch.Version
	iv      [12]byte
	padding int // of each record, in TLS 1.3
}

func newSession(t testing.TB, r *rand.Rand, version patch.Version) *session {
	t.Helper()
	raw := make([]byte, []int{16, 32}[r.IntN(2)])
	fill(r, raw)
	block, err := aes.NewCipher(raw)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{aead: aead, version: version}
	var h [16]byte
	block.Encrypt(h[:], h[:])
	s.key = patch.NewElement(h)
	fill(r, s.iv[:])
	return s
}

func fill(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// seal makes the record with a number for a text.
func (s *session) seal(number uint64, text []byte) []byte {
	inner := append([]byte(nil), text...)
	record := []byte{0x17, 3, 3, 0, 0}
	if s.version == patch.TLS12 {
		record = binary.BigEndian.AppendUint64(record, number)
	} else {
		inner = append(append(inner, 0x17), make([]byte, s.padding)...)
	}
	binary.BigEndian.PutUint16(record[3:], uint16(len(record)-5+len(inner)+s.aead.Overhead()))
	nonce, data := s.around(number, record, len(inner))
	return s.aead.Seal(record, nonce, inner, data)
}

// around returns the nonce and the associated data of a record.
func (s *session) around(number uint64, record []byte, inner int) (nonce, data []byte) {
	nonce = append(nonce, s.iv[:]...)
	if s.version == patch.TLS12 {
		copy(nonce[4:], record[5:13])
		data = binary.BigEndian.AppendUint64(nil, number)
		data = append(data, record[:3]...)
		return nonce, binary.BigEndian.AppendUint16(data, uint16(inner))
	}
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^number)
	return nonce, append(data, record[:5]...)
}

// open decrypts the record with a number, or fails as a receiver does.
func (s *session) open(number uint64, record []byte) ([]byte, error) {
	from := 5
	if s.version == patch.TLS12 {
		from = 13
	}
	nonce, data := s.around(number, record, len(record)-from-s.aead.Overhead())
	text, err := s.aead.Open(nil, nonce, record[from:], data)
	if err == nil && s.version != patch.TLS12 {
		text = text[:len(text)-1-s.padding]
	}
	return text, err
}

// change makes what was at a place of a text into something else.
func change(text []byte, at int, value []byte) patch.Change {
	delta := make([]byte, len(value))
	for i := range value {
		delta[i] = text[at+i] ^ value[i]
	}
	return patch.Change{At: at, Delta: secret.New(delta)}
}
