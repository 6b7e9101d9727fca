package serve

import (
	"io"

	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// memory is how many events of the trace are kept for whoever asks.
const memory = 1 << 16

// recorder takes the trace. It belongs to the goroutine of the engine.
type recorder struct {
	ring []engine.Record
	next int
	out  io.Writer // nil: not written
	err  error     // of out
}

// take is the sink of the engine. Steps of the engine's own are left out: they say
// nothing to a reader.
func (t *recorder) take(r engine.Record) {
	if r.Kind == "step" {
		return
	}
	if t.out != nil && t.err == nil {
		t.err = report.WriteRecords(t.out, []engine.Record{r})
	}
	if len(t.ring) < memory {
		t.ring = append(t.ring, r)
		return
	}
	t.ring[t.next] = r
	t.next = (t.next + 1) % memory
}

// after returns the kept events of later steps, at most so many of the latest.
func (t *recorder) after(step uint64, most int) []engine.Record {
	var found []engine.Record
	for i := range t.ring {
		if r := t.ring[(t.next+i)%len(t.ring)]; r.Step > step {
			found = append(found, r)
		}
	}
	return found[max(0, len(found)-most):]
}
