package controllermanager

import (
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// expectations are what a controller has done and not seen yet. Until it has seen all
// of it, it does no more, so that a stale cache does not make it do things twice.
type expectations struct {
	clock clock.PassiveClock
	of    map[reconcile.Request]*expected
}

// expected is what is still to be seen of one object's dependents.
type expected struct {
	creations int
	deletions map[string]bool // by name
	since     time.Time
}

// expectationsTimeout is how long a controller believes in what it expects.
const expectationsTimeout = 5 * time.Minute

func newExpectations(m *Manager) *expectations {
	return &expectations{clock: m.opts.Clock, of: map[reconcile.Request]*expected{}}
}

// expect begins anew with what is going to be done.
func (e *expectations) expect(key reconcile.Request, creations int, deletions ...string) {
	x := &expected{creations: creations, deletions: map[string]bool{}, since: e.clock.Now()}
	for _, name := range deletions {
		x.deletions[name] = true
	}
	e.of[key] = x
}

// created takes a creation that was seen, or that will never be.
func (e *expectations) created(key reconcile.Request) {
	if x := e.of[key]; x != nil {
		x.creations--
	}
}

// deleted takes a deletion that was seen, or that will never be. Each counts once.
func (e *expectations) deleted(key reconcile.Request, name string) {
	if x := e.of[key]; x != nil {
		delete(x.deletions, name)
	}
}

func (e *expectations) forget(key reconcile.Request) { delete(e.of, key) }

// met reports whether everything has been seen, or too much time has passed.
func (e *expectations) met(key reconcile.Request) bool {
	x := e.of[key]
	return x == nil || x.creations <= 0 && len(x.deletions) == 0 || e.clock.Since(x.since) > expectationsTimeout
}
