package clock

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Clock is time and concurrency as one process sees them.
//
// All methods may be called by any task of the process. Values made by a Clock
// (contexts, groups, signals) belong to that process and end with it.
type Clock interface {
	// PassiveClock gives Now and Since. Both read the wall clock of the node,
	// which may be wrong and may be stepped in either direction; durations
	// that must not go wrong are measured by Monotonic, Sleep or a deadline.
	clock.PassiveClock

	// Monotonic is the time since some fixed instant on the monotonic clock, which
	// nobody steps. Only differences between two readings mean something.
	Monotonic() time.Duration

	// Sleep returns nil once d has passed on the monotonic clock, or an error
	// that wraps ctx.Err() as soon as ctx ends. It returns at once for d <= 0.
	Sleep(ctx context.Context, d time.Duration) error

	// WithTimeout is context.WithTimeout on this clock.
	WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc)

	// WithCancel is context.WithCancel on this clock. It exists because the
	// standard function may start a goroutine.
	WithCancel(parent context.Context) (context.Context, context.CancelFunc)

	// NewGroup returns a group whose tasks run under ctx.
	NewGroup(ctx context.Context) Group

	// NewSignal returns a signal that nobody has sent yet.
	NewSignal() Signal
}

// Group starts tasks and waits for them: it replaces the go statement and
// sync.WaitGroup.
type Group interface {
	// Go starts f as a task. The name appears in traces and in messages about
	// tasks that hang; it need not be unique.
	Go(name string, f func(ctx context.Context))

	// Wait returns when every task started with Go has returned.
	Wait()
}

// Signal carries one bit from any number of senders to one waiting task: it
// replaces a channel of capacity one. Sends that nobody has waited for yet
// coalesce.
type Signal interface {
	// Send sets the signal. It never blocks.
	Send()

	// Wait returns nil once the signal is set, and clears it; or an error that
	// wraps ctx.Err() as soon as ctx ends.
	Wait(ctx context.Context) error
}
