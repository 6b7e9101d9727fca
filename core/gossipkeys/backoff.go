package gossipkeys

import "time"

// backoff counts out the delays between failed attempts: base, 2·base, 4·base,
// … up to max, without jitter. It is not safe for concurrent use.
type backoff struct {
	base, max time.Duration
	last      time.Duration
}

// next returns the delay after one more failure.
func (b *backoff) next() time.Duration {
	if b.last == 0 {
		b.last = b.base
	} else {
		b.last = min(2*b.last, b.max)
	}
	return b.last
}

// reset forgets all failures.
func (b *backoff) reset() { b.last = 0 }
