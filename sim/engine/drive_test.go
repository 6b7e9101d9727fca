package engine

import (
	"testing"
	"time"
)

// A run that is driven in pieces, wherever they end, is the run made in one go.
func TestPiecesMakeTheSameRun(t *testing.T) {
	for seed := range uint64(10) {
		cfg := Config{Source: NewSeed(seed), Idle: IdleAllowed}
		whole := newProgram(seed, cfg)
		want := whole.e.RunTo(5 * second)
		cuts := prng(seed)
		cfg.Source = NewSeed(seed)
		pieces := newProgram(seed, cfg)
		for pieces.e.Elapsed() < 5*second {
			at := pieces.e.Elapsed() + time.Duration(cuts.below(uint64(50*ms)))
			pieces.e.RunTo(min(at, 5*second))
		}
		if got := pieces.e.Hash(); got != want.Hash || pieces.e.Steps() != want.Steps {
			t.Errorf("seed %d: %d steps with hash %x in pieces, %d with %x in one go",
				seed, pieces.e.Steps(), got, want.Steps, want.Hash)
		}
		_, _ = whole.e.Close(), pieces.e.Close()
	}
}

func TestRunToTakesTimeAlong(t *testing.T) {
	e := New(Config{Source: NewSeed(1)})
	var fired []time.Duration
	note := func(any) { fired = append(fired, e.Elapsed()) }
	e.After(0, note, nil)
	e.After(second, note, nil)
	if at, ok := e.Next(); at != 0 || !ok {
		t.Errorf("next at %v, %v; want now", at, ok)
	}
	e.RunTo(0)
	if len(fired) != 1 || e.Elapsed() != 0 {
		t.Errorf("RunTo(0) fired %v and stands at %v", fired, e.Elapsed())
	}
	e.RunTo(500 * ms)
	e.After(0, note, nil) // from outside, between two pieces
	e.RunTo(0)
	if len(fired) != 2 || fired[1] != 500*ms {
		t.Errorf("what came in between fired at %v, want at 500ms", fired)
	}
	if at, ok := e.Next(); at != second || !ok {
		t.Errorf("next at %v, %v; want at 1s", at, ok)
	}
	e.RunTo(2 * second)
	if at, ok := e.Next(); ok {
		t.Errorf("next at %v, although nothing is left", at)
	}
	if e.Elapsed() != 2*second {
		t.Errorf("stands at %v, want 2s", e.Elapsed())
	}
}

// A sink gets the trace instead of the result, and the run is the same.
func TestSinkTakesTheTrace(t *testing.T) {
	kept := runProgram(3, Config{Source: NewSeed(3), Trace: TraceFull})
	var sunk []Record
	got := runProgram(3, Config{Source: NewSeed(3), Trace: TraceFull, Sink: func(r Record) { sunk = append(sunk, r) }})
	if got.Hash != kept.Hash || len(got.Records) != 0 || len(sunk) != len(kept.Records) {
		t.Errorf("hash %x with %d records in the result and %d in the sink; want %x, 0 and %d",
			got.Hash, len(got.Records), len(sunk), kept.Hash, len(kept.Records))
	}
}
