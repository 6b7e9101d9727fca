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
