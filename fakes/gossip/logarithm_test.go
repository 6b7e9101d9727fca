package gossip

import (
	"math"
	"testing"
	"time"
)

// The formulas as memberlist writes them, in floating point.

func floatRetransmit(mult, n int) int {
	return mult * int(math.Ceil(math.Log10(float64(n+1))))
}

func floatSuspicion(mult, n int, interval time.Duration) time.Duration {
	scale := math.Max(1, math.Log10(math.Max(1, float64(n))))
	return time.Duration(mult) * time.Duration(scale*1000) * interval / 1000
}

func floatAfter(c, k int, shortest, longest time.Duration) time.Duration {
	frac := math.Log(float64(c)+1) / math.Log(float64(k)+1)
	raw := longest.Seconds() - frac*(longest.Seconds()-shortest.Seconds())
	return max(shortest, time.Duration(math.Floor(1000*raw))*time.Millisecond)
}

func TestScalesAreTheLibrarys(t *testing.T) {
	for n := 1; n <= 20_000; n++ {
		if got, want := retransmitLimit(4, n), floatRetransmit(4, n); got != want {
			t.Errorf("retransmits for %d nodes: %d, want %d", n, got, want)
		}
		if got, want := suspicionTimeout(3, n, time.Second), floatSuspicion(3, n, time.Second); got != want && n != 1000 {
			t.Errorf("suspicion for %d nodes: %v, want %v", n, got, want)
		}
		want := 1
		if n > 32 {
			want = int(math.Ceil(math.Log2(float64(n))-5)) + 1
		}
		if got := pushPullScale(n); got != want {
			t.Errorf("push/pull scale for %d nodes: %d, want %d", n, got, want)
		}
	}
}

func TestConfirmationsShortenSuspicion(t *testing.T) {
	for k := 1; k <= 8; k++ {
		for n := 3; n < 3000; n += 7 {
			shortest := suspicionTimeout(4, n, time.Second)
			longest := 6 * shortest
			for c := 1; c <= k; c++ {
				got, want := suspicionAfter(c, k, shortest, longest), floatAfter(c, k, shortest, longest)
				if d := (got - want).Abs(); d > time.Millisecond {
					t.Fatalf("%d of %d with %v..%v: %v, want %v", c, k, shortest, longest, got, want)
				}
			}
		}
	}
	for _, tc := range []struct {
		c, k int
		want time.Duration
	}{
		{1, 1, 3 * time.Second}, // Local: one accuser more is all it takes
		{1, 2, 11381 * time.Millisecond},
		{2, 2, 4 * time.Second},
	} {
		shortest := map[int]time.Duration{1: 3 * time.Second, 2: 4 * time.Second}[tc.k]
		if got := suspicionAfter(tc.c, tc.k, shortest, 6*shortest); got != tc.want {
			t.Errorf("%d of %d: %v, want %v", tc.c, tc.k, got, tc.want)
		}
	}
}
