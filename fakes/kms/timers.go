package kms

import (
	"sort"
	"time"
)

// Timers is virtual time for what must not wait: it asks for the time, and to be
// called later. A simulator implements it on its engine.
type Timers interface {
	Now() time.Time

	// After calls fn once, d from now, unless cancel is called before.
	After(d time.Duration, fn func()) (cancel func())
}

// ManualTimers is time that passes when a test says so. It is used on one goroutine.
type ManualTimers struct {
	now     time.Time
	pending []*manualTimer // by time, then by age
}

type manualTimer struct {
	at time.Time
	fn func() // nil once cancelled
}

// NewManualTimers returns timers at which it is 2030-01-01T00:00:00Z.
func NewManualTimers() *ManualTimers {
	return &ManualTimers{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Now implements [Timers].
func (m *ManualTimers) Now() time.Time { return m.now }

// After implements [Timers].
func (m *ManualTimers) After(d time.Duration, fn func()) (cancel func()) {
	t := &manualTimer{at: m.now.Add(max(d, 0)), fn: fn}
	i := sort.Search(len(m.pending), func(i int) bool { return m.pending[i].at.After(t.at) })
	m.pending = append(m.pending, nil)
	copy(m.pending[i+1:], m.pending[i:])
	m.pending[i] = t
	return func() { t.fn = nil }
}

// Advance lets d pass, and calls what is due meanwhile at its time.
func (m *ManualTimers) Advance(d time.Duration) {
	end := m.now.Add(d)
	for len(m.pending) > 0 && !m.pending[0].at.After(end) {
		t := m.pending[0]
		m.pending = m.pending[1:]
		m.now = t.at
		if t.fn != nil {
			t.fn()
		}
	}
	m.now = end
}
