package home

import (
	"sync"
	"time"
)

// SourceHealth tells whether a source has answered lately. It starts in sync.
//
// Times are readings of a monotonic clock: a wall clock that is stepped forward would
// make a source look dead, and one that is stepped back a dead one alive.
//
// It has hysteresis: once unhealthy it is healthy again only within half the time
// after an answer. The state changes when Healthy is asked, and only then. It may be
// used from several tasks.
type SourceHealth struct {
	stale time.Duration

	mu       sync.Mutex
	last     time.Duration
	degraded bool
}

// NewSourceHealth returns the health of a source that is in sync now, and may be
// silent for less than stale.
func NewSourceHealth(stale, now time.Duration) *SourceHealth {
	return &SourceHealth{stale: stale, last: now}
}

// MarkSync notes that the source answered at that time.
func (s *SourceHealth) MarkSync(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = at
}

// Healthy reports whether the source counts as alive now.
func (s *SourceHealth) Healthy(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch age := now - s.last; {
	case age >= s.stale:
		s.degraded = true
	case age < s.stale/2:
		s.degraded = false
	}
	return !s.degraded
}
