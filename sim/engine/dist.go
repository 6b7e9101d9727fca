package engine

import (
	"math/bits"
	"time"
)

const million = 1_000_000

// Prob is a probability in parts per million.
type Prob uint32

// Dist describes a random duration. Outcomes lie in [Min, Max].
//
// With Mean above Min they are exponential-like: Min plus an exponential with
// mean Mean-Min, cut off at Max (Max zero: at Min plus 16 times Mean-Min). With
// Mean zero and Max above Min they are uniform. Else the outcome is always Min.
type Dist struct {
	Min, Mean, Max time.Duration
}

// Constant is the distribution that always gives d.
func Constant(d time.Duration) Dist { return Dist{Min: d, Mean: d, Max: d} }

// shape returns the number of outcomes above Min (0: constant) and their spread.
func (d Dist) shape() (span uint64, shape Shape, mean uint64) {
	if d.Mean == 0 {
		if d.Max > d.Min {
			return uint64(d.Max - d.Min), Even, 0
		}
		return 0, Even, 0
	}
	if d.Mean <= d.Min {
		return 0, Even, 0
	}
	mean = uint64(d.Mean - d.Min)
	if d.Max == 0 {
		return 16 * mean, Decay, mean
	}
	if d.Max <= d.Min {
		return 0, Even, 0
	}
	return uint64(d.Max - d.Min), Decay, mean
}

// ln2 is the natural logarithm of 2 in units of 2^-32.
const ln2 = 2977044472

// exponential maps a uniform u to -mean*ln(1 - u/2^64) in integer arithmetic, so
// that the result is the same on every architecture.
func exponential(u, mean uint64) uint64 {
	if u == 0 {
		return 0
	}
	v := -u // 2^64 - u, which is in [1, 2^64)
	zeros := bits.LeadingZeros64(v)
	frac := log2Fraction(v << zeros)
	// -log2(v/2^64), in units of 2^-32; at most 64.
	bitsDown := uint64(1+zeros)<<32 - frac
	hi, lo := bits.Mul64(bitsDown, ln2)
	nats := hi<<32 | lo>>32
	hi, lo = bits.Mul64(nats, mean)
	if hi>>32 != 0 {
		return 1<<64 - 1
	}
	return hi<<32 | lo>>32
}

// log2Fraction returns log2(v/2^63) in units of 2^-32, for v with its top bit
// set, by linear interpolation in a table.
func log2Fraction(v uint64) uint64 {
	i := v << 1 >> 56
	rest := v << 9 >> 32 // position between entries i and i+1, of 2^32
	return log2Table[i] + (log2Table[i+1]-log2Table[i])*rest>>32
}

// log2Table[i] is log2(1 + i/256) in units of 2^-32.
var log2Table = makeLog2Table()

// makeLog2Table computes logarithms bit by bit: squaring y doubles its
// logarithm, and whether the square reaches 2 is the next binary digit.
func makeLog2Table() (t [257]uint64) {
	for i := range 256 {
		y := uint64(256+i) << 55 // in units of 2^-63, in [1, 2)
		for range 32 {
			hi, _ := bits.Mul64(y, y) // in units of 2^-62, in [1, 4)
			t[i] <<= 1
			if hi>>63 == 1 {
				t[i] |= 1
				y = hi
			} else {
				y = hi << 1
			}
		}
	}
	t[256] = 1 << 32
	return t
}
