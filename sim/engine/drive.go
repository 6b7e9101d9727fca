package engine

import "time"

// What follows is for whoever drives an engine from outside, a piece at a time: to
// let virtual time keep pace with a clock, or to put something in between. However
// a run is cut into pieces, it is the same run.

// RunTo runs everything that happens up to the virtual time at, and lets time pass
// until then. Time does not go back: an at in the past runs what is due now.
func (e *Engine) RunTo(at time.Duration) Result {
	if e.inRun {
		panic("engine: RunTo called inside Run")
	}
	e.run(max(int64(at), e.now))
	e.checkAbort()
	return e.result()
}

// Next returns when something happens next if nobody interferes: now, if a task is
// ready. It returns false if nothing will ever happen.
func (e *Engine) Next() (at time.Duration, ok bool) {
	if e.ready.n > 0 {
		return e.Elapsed(), true
	}
	next := e.queue.next()
	return time.Duration(next), next != never
}

// Steps counts the tasks resumed and the events fired so far.
func (e *Engine) Steps() uint64 { return e.steps }

// Hash is the hash of the trace so far.
func (e *Engine) Hash() uint64 { return e.hash }

// Err is what has ended the run, or nil.
func (e *Engine) Err() error { return e.err }
