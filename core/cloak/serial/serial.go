package serial

import (
	"context"
	"slices"
	"sync"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// Lanes holds one lane for each key, in which one task is at a time.
type Lanes struct {
	clock clock.Clock

	mu    sync.Mutex // never held while a task waits
	lanes map[string][]clock.Signal
}

// New returns lanes in which nobody is.
func New(c clock.Clock) *Lanes { return &Lanes{clock: c, lanes: map[string][]clock.Signal{}} }

// Do calls f while no other f of that key runs. Who comes first goes first. If ctx ends
// before it is this task's turn, f is not called and the error says why.
func (l *Lanes) Do(ctx context.Context, key string, f func() error) error {
	if turn := l.enter(key); turn != nil {
		if err := turn.Wait(ctx); err != nil {
			l.giveUp(key, turn)
			return err
		}
	}
	defer l.leave(key)
	return f()
}

// enter takes the lane, or returns what to wait for.
func (l *Lanes) enter(key string) clock.Signal {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, taken := l.lanes[key]
	if !taken {
		l.lanes[key] = nil
		return nil
	}
	turn := l.clock.NewSignal()
	l.lanes[key] = append(waiting, turn)
	return turn
}

// leave hands the lane to the next.
func (l *Lanes) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.lanes[key]
	if len(waiting) == 0 {
		delete(l.lanes, key)
		return
	}
	l.lanes[key] = waiting[1:]
	waiting[0].Send()
}

// giveUp waits no more. If the lane was handed over just now, the next one gets it.
func (l *Lanes) giveUp(key string, turn clock.Signal) {
	l.mu.Lock()
	i := slices.Index(l.lanes[key], turn)
	if i >= 0 {
		l.lanes[key] = slices.Delete(l.lanes[key], i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		l.leave(key)
	}
}
