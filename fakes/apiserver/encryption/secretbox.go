package encryption

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/bits"
)

// secretbox is XSalsa20 and Poly1305 as in NaCl, with a random nonce in front. It is
// written down here, slowly and plainly, as the standard library has neither.
type secretbox struct{ key [32]byte }

const (
	boxNonce    = 24
	boxOverhead = 16
)

func newSecretbox(key []byte) (sealer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("expected key size 32 for secretbox provider, got %v", len(key))
	}
	return secretbox{[32]byte(key)}, nil
}

func (secretbox) binds() bool { return false }

func (s secretbox) seal(random io.Reader, _ string, text []byte) ([]byte, error) {
	out := make([]byte, boxNonce+boxOverhead+len(text))
	if _, err := io.ReadFull(random, out[:boxNonce]); err != nil {
		return nil, err
	}
	once, body := s.xor(out[:boxNonce], text)
	copy(out[boxNonce+boxOverhead:], body)
	tag := poly1305(once, body)
	copy(out[boxNonce:], tag[:])
	return out, nil
}

var errBox = errors.New("output array was not large enough for encryption") // what a real server says

func (s secretbox) open(_ string, data []byte) ([]byte, error) {
	if len(data) < boxNonce+boxOverhead {
		return nil, errShort
	}
	nonce, tag, body := data[:boxNonce], data[boxNonce:boxNonce+boxOverhead], data[boxNonce+boxOverhead:]
	once, text := s.xor(nonce, body)
	if want := poly1305(once, body); subtle.ConstantTimeCompare(tag, want[:]) != 1 {
		return nil, errBox
	}
	return text, nil
}

// xor returns data mixed with the key stream of a nonce, whose first 32 bytes are the
// key for the tag.
func (s secretbox) xor(nonce, data []byte) (once [32]byte, out []byte) {
	// XSalsa20: the first 16 bytes of the nonce make a key for the other 8.
	key := [8]uint32(words(s.key[:]))
	first := salsa(start(key, [4]uint32(words(nonce[:16]))))
	sub := [8]uint32{first[0], first[5], first[10], first[15], first[6], first[7], first[8], first[9]}
	rest := words(nonce[16:])
	out = make([]byte, len(data))
	var stream [64]byte
	for block, at := uint64(0), -32; at < len(data); block, at = block+1, at+64 {
		in := start(sub, [4]uint32{rest[0], rest[1], uint32(block), uint32(block >> 32)})
		mixed := salsa(in)
		for i := range mixed {
			binary.LittleEndian.PutUint32(stream[4*i:], mixed[i]+in[i])
		}
		if at < 0 {
			copy(once[:], stream[:32])
		}
		for i := max(at, 0); i < min(at+64, len(data)); i++ {
			out[i] = data[i] ^ stream[i-at]
		}
	}
	return once, out
}

// words are the little-endian words of b.
func words(b []byte) []uint32 {
	w := make([]uint32, len(b)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w
}

// start is the matrix that Salsa20 begins with.
func start(key [8]uint32, in [4]uint32) [16]uint32 {
	return [16]uint32{
		0x61707865, key[0], key[1], key[2],
		key[3], 0x3320646e, in[0], in[1],
		in[2], in[3], 0x79622d32, key[4],
		key[5], key[6], key[7], 0x6b206574,
	}
}

// salsa is the 20 rounds of Salsa20.
func salsa(x [16]uint32) [16]uint32 {
	quarter := func(a, b, c, d int) {
		x[b] ^= bits.RotateLeft32(x[a]+x[d], 7)
		x[c] ^= bits.RotateLeft32(x[b]+x[a], 9)
		x[d] ^= bits.RotateLeft32(x[c]+x[b], 13)
		x[a] ^= bits.RotateLeft32(x[d]+x[c], 18)
	}
	for range 10 {
		quarter(0, 4, 8, 12)
		quarter(5, 9, 13, 1)
		quarter(10, 14, 2, 6)
		quarter(15, 3, 7, 11)
		quarter(0, 1, 2, 3)
		quarter(5, 6, 7, 4)
		quarter(10, 11, 8, 9)
		quarter(15, 12, 13, 14)
	}
	return x
}

// poly1305 is the tag of a message under a key that is used once.
func poly1305(key [32]byte, message []byte) [16]byte {
	clamped := key
	for _, i := range []int{3, 7, 11, 15} {
		clamped[i] &= 15
	}
	for _, i := range []int{4, 8, 12} {
		clamped[i] &= 252
	}
	r, s := number(clamped[:16]), number(key[16:])
	prime := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 130), big.NewInt(5))
	sum := new(big.Int)
	for len(message) > 0 {
		n := min(16, len(message))
		sum.Add(sum, number(append(append([]byte(nil), message[:n]...), 1)))
		sum.Mod(sum.Mul(sum, r), prime)
		message = message[n:]
	}
	sum.Add(sum, s)
	var tag [16]byte
	bytes := sum.Bytes() // big endian
	for i := 0; i < min(16, len(bytes)); i++ {
		tag[i] = bytes[len(bytes)-1-i]
	}
	return tag
}

// number is the number that little-endian bytes are.
func number(b []byte) *big.Int {
	reversed := make([]byte, len(b))
	for i, x := range b {
		reversed[len(b)-1-i] = x
	}
	return new(big.Int).SetBytes(reversed)
}
