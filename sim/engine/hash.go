package engine

import "math/bits"

const (
	hashK0 = 0xa0761d6478bd642f
	hashK1 = 0xe7037ed1a0b428db
)

// Hash is a fixed hash of a text: the same on every machine, process and Go version.
func Hash(s string) uint64 { return hashString(s) }

// Mix folds one word into a running hash. The order of words matters.
func Mix(h, x uint64) uint64 { return mix(h, x) }

// mix folds one word into a running hash. The order of words matters.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x^hashK0, hashK1)
	return hi ^ lo
}

// hashString is a fixed hash: the same on every machine, process and Go version.
func hashString(s string) uint64 {
	n := len(s)
	h := uint64(n) * golden
	switch {
	case n >= 8:
		for len(s) > 8 {
			h = mix(h, word(s))
			s = s[min(8, len(s)-8):] // the last word overlaps the one before
		}
		return mix(h, word(s))
	case n >= 4:
		return mix(h, half(s)<<32|half(s[n-4:]))
	case n > 0:
		return mix(h, uint64(s[0])<<16|uint64(s[n/2])<<8|uint64(s[n-1]))
	}
	return h
}

// word reads eight bytes, little-endian; the compiler turns it into one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// half reads four bytes, little-endian.
func half(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}
