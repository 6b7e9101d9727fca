package engine

import (
	"testing"
	"time"
)

// pendingEvent is an event in the model of the queue.
type pendingEvent struct {
	at        int64
	slot, gen uint32
}

// The queue pops in the same order as a plain model under random pushes, pops and
// cancels, ties and stale cancels included.
func TestQueueAgainstAModel(t *testing.T) {
	for seed := range uint64(20) {
		r := prng(seed)
		var q queue
		var events []pendingEvent // by id, in order of insertion
		model := map[int]bool{}   // ids that are pending
		now := int64(0)
		for range 5_000 {
			op := r.below(5)
			if len(model) > 200 {
				op = 2
			}
			switch {
			case op < 2:
				at := now + int64(r.below(50))
				s, gen := q.push(at, nop, len(events))
				model[len(events)] = true
				events = append(events, pendingEvent{at, s, gen})
			case op < 4 && len(model) > 0:
				e, _, arg := q.pop()
				id := arg.(int)
				for other := range model {
					if at := events[other].at; at < e.at || at == e.at && other < id {
						t.Fatalf("popped %d at %d before %d at %d", id, e.at, other, at)
					}
				}
				if !model[id] || events[id].at != e.at {
					t.Fatalf("popped %d at %d, which is not pending", id, e.at)
				}
				now = e.at
				delete(model, id)
			case op == 4 && len(events) > 0:
				id := int(r.below(uint64(len(events)))) // gone already, more often than not
				if q.cancel(events[id].slot, events[id].gen) != model[id] {
					t.Fatalf("cancel of %d, pending %v", id, model[id])
				}
				delete(model, id)
			}
			if q.pending() != len(model) {
				t.Fatalf("%d events in the queue, %d pending", q.pending(), len(model))
			}
		}
	}
}

func TestQueueDoesNotAllocate(t *testing.T) {
	var q queue
	r := prng(1)
	for range 100_001 {
		q.push(delay(&r), nop, nil)
	}
	allocs := testing.AllocsPerRun(10_000, func() {
		e, _, _ := q.pop()
		q.cancel(q.push(e.at+delay(&r), nop, nil))
		q.push(e.at+delay(&r), nop, nil)
	})
	if allocs != 0 {
		t.Errorf("%v allocations per operation", allocs)
	}
}

// Yield, Sleep, Emit, and After with a pointer do not allocate.
func TestStepsDoNotAllocate(t *testing.T) {
	const steps, setUp = 100_000, 500
	for name, run := range map[string]func(){
		"yield": func() { runSteps(runYield(10), steps) },
		"sleep": func() { runSteps(runSleep(10), steps) },
		"event": func() { runSteps(runEvents(10), steps) },
		"emit": func() {
			e := New(Config{Source: fifoSource{}})
			for range steps {
				e.Emit(Event{Kind: "api", Actor: "node-1", Verb: "get", Object: "secrets/ns/name"})
			}
		},
	} {
		if n := testing.AllocsPerRun(1, run); n > setUp {
			t.Errorf("%s: %v allocations in %d steps", name, n, steps)
		}
	}
}

// Events at the end of time do not happen, and do not keep the run going.
func TestNever(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Horizon = 0 })
	w.After(1<<63-1, func(any) { t.Error("happened") }, nil)
	w.at(second, func() { w.After(1<<63-1, func(any) { t.Error("happened") }, nil) })
	if r := w.mustRun(); r.Elapsed != time.Second {
		t.Errorf("elapsed %v", r.Elapsed)
	}
}
