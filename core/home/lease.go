package home

import (
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
)

const (
	// renewWithoutLease is how often a grant that never expires is fetched again.
	renewWithoutLease = 5 * time.Minute

	// renewSoonest is how soon a renewal may follow a fetch.
	renewSoonest = time.Second
)

// lease is the Pod's own grant and for how long it is good.
type lease struct {
	mu      sync.Mutex
	own     secret.Bytes
	held    bool
	fetched bool          // by this home; else found in the directory
	at      time.Time     // of the fetch, on the wall clock
	uptime  time.Duration // of the fetch, on the monotonic clock
	expires time.Time     // zero: never
}

// OwnGrant is the Pod's own grant, the file that the grant fetch wrote, or found there
// when it could fetch none. It may have expired. A home without a grant fetch holds
// none.
func (h *Home) OwnGrant() ([]byte, bool) {
	h.lease.mu.Lock()
	defer h.lease.mu.Unlock()
	if !h.lease.held {
		return nil, false
	}
	return h.lease.own.Reveal(), true
}

// take notes a grant that was fetched now.
func (l *lease) take(token secret.Bytes, p grant.Peeked, now time.Time, uptime time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own, l.held, l.fetched = token, true, true
	l.at, l.uptime, l.expires = now, uptime, p.Expires
}

// find notes a grant that was in the directory.
func (l *lease) find(token secret.Bytes, p grant.Peeked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own, l.held, l.expires = token, true, p.Expires
}

// renewIn is how long it is until the grant is to be fetched again: half its lease after
// the fetch. A grant has a time on the wall clock, so the answer changes when that is
// stepped.
func (l *lease) renewIn(now time.Time, uptime time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.fetched:
		return 0
	case l.expires.IsZero():
		return l.uptime + renewWithoutLease - uptime
	}
	due := l.at.Add(max(l.expires.Sub(l.at)/2, 0))
	return max(due.Sub(now), l.uptime+renewSoonest-uptime)
}

// left is how long the grant is good for still; forever is true if it never expires.
func (l *lease) left(now time.Time) (left time.Duration, forever bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expires.Sub(now), l.held && l.expires.IsZero()
}
