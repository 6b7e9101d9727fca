package engine

import "math/bits"

// prng is SplitMix64. The engine has its own generator because the outputs of
// the standard library's helpers may change between Go versions, and a seed must
// mean the same run for ever.
type prng uint64

const golden = 0x9e3779b97f4a7c15

func (p *prng) next() uint64 {
	*p += golden
	return avalanche(uint64(*p))
}

// below returns a number in [0, n). The bias is at most n/2^64.
func (p *prng) below(n uint64) uint64 {
	hi, _ := bits.Mul64(p.next(), n)
	return hi
}

// avalanche spreads every input bit over all output bits; it is a bijection.
func avalanche(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// derive makes the state of an independent generator from a seed and a name.
func derive(seed uint64, name string) prng {
	return prng(avalanche(seed+golden) ^ hashString(name))
}
