// Package light is part of the simulator: it may block, but not on real time.
package light

import (
	"context"
	"os"
	"time"
)

func run(ctx context.Context, m map[string]int) []int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := make(chan int, 1)
	c <- 1
	<-c
	_ = os.Stdout
	go run(ctx, m) // want `go statement`
	_ = time.Now() // want `use of time.Now`
	var out []int
	for _, v := range m { // want `the order of map m is visible: line 21 collects into out, which is not sorted right after`
		out = append(out, v)
	}
	return out
}
