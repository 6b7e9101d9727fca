package engine

import (
	"math/bits"
	"time"
)

// skew is the error of a process's clocks. Its monotonic clock runs at
// (million + ppm) / million of the true one; its wall clock is that plus offset.
type skew struct {
	offset time.Duration
	ppm    int64
	since  int64 // true virtual time of the last change
	local  int64 // monotonic clock of the process at that time
}

// Elapsed returns the true virtual time since the start of the run.
func (e *Engine) Elapsed() time.Duration { return time.Duration(e.now) }

// Now returns the true wall clock: Config.Start plus Elapsed.
func (e *Engine) Now() time.Time { return e.cfg.Start.Add(time.Duration(e.now)) }

// SetClock sets the error of the process's clocks: offset is added to its wall
// clock, and both clocks run fast by ratePPM parts per million (slow if negative).
// Sleeps that have begun keep their end. The setting survives restarts.
func (p *Process) SetClock(offset time.Duration, ratePPM int64) {
	p.e.guard("SetClock")
	if ratePPM <= -million {
		panic("engine: SetClock of process " + p.name + ": the clock must go forward")
	}
	p.clock.local = p.monotonic()
	p.clock.since = p.e.now
	p.clock.offset, p.clock.ppm = offset, ratePPM
	p.e.emit(Event{Kind: "proc", Actor: p.name, Verb: "clock", N: uint64(offset)})
}

// Now returns the wall clock as the process sees it.
func (p *Process) Now() time.Time {
	p.e.guard("Now")
	return p.e.cfg.Start.Add(time.Duration(p.monotonic()) + p.clock.offset)
}

// Since returns the time from t to Now on the wall clock of the process.
func (p *Process) Since(t time.Time) time.Duration { return p.Now().Sub(t) }

// Monotonic returns what the process's monotonic clock says: the time since the
// start of the run, at the clock's own rate.
func (p *Process) Monotonic() time.Duration {
	p.e.guard("Monotonic")
	return time.Duration(p.monotonic())
}

// monotonic returns the process's monotonic clock, in nanoseconds of its own.
func (p *Process) monotonic() int64 {
	c := &p.clock
	return c.local + scale(p.e.now-c.since, million+c.ppm, million)
}

// trueDuration returns how long d of the process takes in true virtual time,
// rounded up: whoever waits that long and looks at the process's clock finds
// that d has passed, and does not wait again for nothing.
func (p *Process) trueDuration(d time.Duration) int64 {
	local := int64(max(d, 0))
	t := scale(local, million, million+p.clock.ppm)
	if scale(t, million+p.clock.ppm, million) < local {
		t++
	}
	return t
}

// scale returns x*num/den for non-negative x, saturating.
func scale(x, num, den int64) int64 {
	if num == den {
		return x
	}
	hi, lo := bits.Mul64(uint64(x), uint64(num))
	if hi >= uint64(den) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(den))
	return int64(min(q, 1<<63-1))
}
