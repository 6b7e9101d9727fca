package engine

import "math/bits"

const (
	hashK0 = 0xa0761d6478bd642f
	hashK1 = 0xe7037ed1a0b428db
)

// mix folds one word into a running hash. The order of words matters.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x^hashK0, hashK1)
	return hi ^ lo
}

// hashString is a fixed hash: the same on every machine, process and Go version.
func hashString(s string) uint64 {
	h := uint64(len(s)) * golden
	for len(s) >= 8 {
		h = mix(h, word(s))
		s = s[8:]
	}
	if len(s) == 0 {
		return h
	}
	var x uint64
	for i := 0; i < len(s); i++ {
		x |= uint64(s[i]) << (8 * i)
	}
	return mix(h, x)
}

// word reads eight bytes, little-endian; the compiler turns it into one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
