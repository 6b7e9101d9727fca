package workqueue

import "time"

// Defaults of controller-runtime's per-request rate limiter.
const (
	DefaultBase = 5 * time.Millisecond
	DefaultMax  = 1000 * time.Second
)

// exponential is base doubled once per failure, at most limit.
func exponential(base, limit time.Duration, failures int) time.Duration {
	d := base
	for range failures {
		d *= 2
		if d >= limit || d <= 0 {
			return limit
		}
	}
	return min(d, limit)
}

// Bucket is a token bucket: Burst adds at once, then one every Interval. The
// zero value limits nothing. client-go's default controller bucket is
// Bucket{Interval: 100 * time.Millisecond, Burst: 100}.
type Bucket struct {
	Interval time.Duration
	Burst    int
}

// bucketState counts in time instead of tokens: full is the instant at which
// the bucket will be full again if nothing more is taken.
type bucketState struct {
	Bucket
	full time.Duration
}

// reserve takes one token at now and returns how long to wait for it.
func (b *bucketState) reserve(now time.Duration) time.Duration {
	if b.Interval <= 0 {
		return 0
	}
	b.full = max(b.full, now) + b.Interval
	return max(0, b.full-now-time.Duration(b.Burst)*b.Interval)
}
