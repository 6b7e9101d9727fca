package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seedbed-sim/seedbed/core/clock/clocktest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
)

// TestConformance runs the table that the simulator's clock passes as well.
func TestConformance(t *testing.T) {
	clocktest.Run(t, func(t *testing.T, body clocktest.Body) {
		synctest.Test(t, func(t *testing.T) { body(t.Context(), clock.New()) })
	})
}

// TestNowIsRealTime: outside a bubble the clock is that of the machine.
func TestNowIsRealTime(t *testing.T) {
	before := time.Now()
	now := clock.New().Now()
	if after := time.Now(); now.Before(before) || now.After(after) {
		t.Errorf("Now is %v, want between %v and %v", now, before, after)
	}
}

// TestSendNeverBlocks sends from many goroutines at once to a signal that
// nobody waits for.
func TestSendNeverBlocks(t *testing.T) {
	s := clock.New().NewSignal()
	var senders sync.WaitGroup
	for range 100 {
		senders.Go(s.Send)
	}
	senders.Wait()
	if err := s.Wait(t.Context()); err != nil {
		t.Errorf("Wait: %v", err)
	}
}
