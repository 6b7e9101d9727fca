package gossip

import (
	"math/bits"
	"time"
)

// Cluster sizes enter the protocol through logarithms. memberlist computes them
// in floating point, whose last bit differs between processors; here they are
// integers. The results are the same, except where the library's is a rounding
// error away from the true one (1,000 nodes have a scale of 2.999 there).

// retransmitLimit is how often one broadcast is sent: mult * ceil(log10(n+1)).
func retransmitLimit(mult, n int) int {
	digits := 0
	for limit := 1; limit < n+1; limit *= 10 {
		digits++
	}
	return mult * digits
}

// pushPullScale is by how much the push/pull interval grows: not at all up to 32
// nodes, then ceil(log2(n) - 5) + 1.
func pushPullScale(n int) int {
	const threshold = 32
	if n <= threshold {
		return 1
	}
	return bits.Len(uint(n-1)) - 5 + 1
}

// suspicionTimeout is mult * max(1, log10(n)) intervals, the scale cut to
// thousandths.
func suspicionTimeout(mult, n int, interval time.Duration) time.Duration {
	scale := uint64(1000)
	if n > 10 {
		// log10(2) in units of 10^-12, and a nudge against truncation.
		scale = mulDiv(log2(n)+16, 301_029_995_664, 1_000_000_000<<32)
	}
	return time.Duration(mult) * time.Duration(scale) * interval / 1000
}

// suspicionAfter is the whole time, counted from the start, once c of the k
// wanted confirmations are in: from longest down to shortest on a logarithmic
// scale, in whole milliseconds.
func suspicionAfter(c, k int, shortest, longest time.Duration) time.Duration {
	cut := time.Duration(mulDiv(uint64(longest-shortest), log2(c+1), log2(k+1)))
	return max(shortest, (longest - cut).Truncate(time.Millisecond))
}

// log2 is the logarithm of n > 0 to base 2, with 32 binary places.
func log2(n int) uint64 {
	whole := bits.Len(uint(n)) - 1
	// x is n scaled into [1, 2), with 31 binary places. Squaring it doubles its
	// logarithm, and whether it passes 2 is the next binary place.
	x := uint64(n) << (63 - whole) >> 32
	out := uint64(whole)
	for range 32 {
		x = x * x >> 31
		out <<= 1
		if x >= 1<<32 {
			x >>= 1
			out |= 1
		}
	}
	return out
}

// mulDiv is a*b/c without overflow in between; the result must fit.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}
