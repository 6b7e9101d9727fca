package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// progress is the line that shows on a terminal how far a long run has come. It
// stays away from files and pipes, and from work that is done in a moment.
type progress struct {
	out   io.Writer
	start time.Time
	last  time.Time

	mu      sync.Mutex
	visible bool
}

const (
	quietFor    = time.Second
	refreshTime = 100 * time.Millisecond
)

func newProgress(out io.Writer, terminal bool) *progress {
	p := &progress{start: time.Now()}
	if terminal {
		p.out = out
	}
	return p
}

// show updates the line.
func (p *progress) show(done, all int) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.start) < quietFor || now.Sub(p.last) < refreshTime {
		return
	}
	p.last, p.visible = now, true
	left := time.Duration(float64(now.Sub(p.start)) / float64(done) * float64(all-done))
	fmt.Fprintf(p.out, "\r\x1b[K%d of %s, %d %%, about %s left", done, scenarios.Count(all, "run"), done*100/all, scenarios.Roughly(left))
}

// clear removes the line, so that other output can be written.
func (p *progress) clear() {
	if p == nil || p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.visible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.visible = false
	}
}
