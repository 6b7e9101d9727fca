// Package concurrency starts goroutines and uses channels.
package concurrency

import "context"

//line pretend_test.go:1
type pipe chan int // want `channel type; use clock.Clock.NewSignal, or a field under a sync.Mutex \[channel\]`

func run(ctx context.Context, in pipe) {
	go run(ctx, in) // want `go statement; use a task of clock.Clock.NewGroup \[go\]`
	in <- 1         // want `channel send`
	<-ctx.Done()    // want `channel receive`
	for range in {  // want `range over a channel`
	}
	close(in) // want `close of a channel`
	select {  // want `select statement`
	case <-in:
		<-in // want `channel receive`
	default:
	}
}

func drain[C ~chan int](c C) { // want `channel type`
	for range c { // want `range over a channel`
	}
}
