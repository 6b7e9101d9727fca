package home

import (
	"time"

	"github.com/seedbed-sim/seedbed/core/home"
)

// healthModel is the specification of a source's health, written down again.
type healthModel struct {
	last     time.Duration
	degraded bool
}

func (m *healthModel) begin(now time.Duration) { *m = healthModel{last: now} }

func (m *healthModel) well(now time.Duration) bool {
	switch age := now - m.last; {
	case age >= home.DefaultStaleTTL:
		m.degraded = true
	case age < home.DefaultStaleTTL/2:
		m.degraded = false
	}
	return !m.degraded
}

// lookAtHealth compares the home's health with two models: one that is given every
// answer about the Pod, and one that is given those of rounds only, and of these only
// the ones that a round went on from. The truth lies between.
func (l *life) lookAtHealth() {
	now := l.now()
	well, atMost, atLeast := l.home.Healthy(), l.optimist.well(now), l.pessimist.well(now)
	switch {
	case well && !atMost && l.paused:
		l.breaks(overrideIsFinal, "it is healthy, though it was told that the control plane is unreachable")
	case well && !atMost:
		l.breaks(healthNeedsAnAnswer, "it is healthy, though the API server has not answered for its Pod for %v", now-l.optimist.last)
	case !well && atLeast:
		l.breaks(answersMeanHealth, "it is unhealthy, though the API server has answered for its Pod %v ago", now-l.pessimist.last)
	}
	if l.wasWell && !well {
		l.unwell++
	}
	if l.wasWell != well {
		l.wasWell = well
		l.env.Touch()
	}
}

// podAnswered notes that the API server has answered with this very Pod.
func (l *life) podAnswered() {
	now := l.now()
	l.answered, l.answeredKnown = now, true
	if !l.paused {
		l.optimist.last = now
	}
}

// namespaceAsked notes a call that a round makes right after the Pod has been read.
func (l *life) namespaceAsked() {
	if l.answeredKnown && l.answered == l.now() && !l.paused {
		l.pessimist.last = l.answered
	}
}

// override is SetIssuerReachable, with the models.
func (l *life) override(reachable bool) {
	now := l.now()
	l.paused = !reachable
	if !reachable {
		now -= home.DefaultStaleTTL
	} else {
		l.asked = l.now()
	}
	l.optimist.last, l.pessimist.last = now, now
	l.home.SetIssuerReachable(reachable)
	l.env.Touch()
}
