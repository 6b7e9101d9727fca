package engine

import "time"

// Event is something that happened, for the trace.
type Event struct {
	Kind   string // "api", "watch", "fault", "proc", "sys", "story", "prop"
	Actor  string
	Verb   string
	Object string
	N      uint64
	Detail func() string // called if records are kept; not part of the hash
}

// Record is an event as it is kept from [TraceFull] on. The engine adds records of
// Kind "step" of its own: Actor is the task that was resumed and Verb and Object
// the Op at which it had waited, or Actor is empty and N the number of the event.
type Record struct {
	Step   uint64
	At     time.Duration
	Kind   string
	Actor  string
	Verb   string
	Object string
	N      uint64
	Detail string

	// What only notes have; see [Engine.Note].
	Since time.Duration // when what ends here began
	Peer  string        // the other side of it
	State string        // of the object, in a form of the caller's
}

// Emit appends an event to the trace. Everything but Detail, with the step and
// the virtual time, goes into the running hash.
func (e *Engine) Emit(ev Event) {
	e.guard("Emit")
	e.emit(ev)
}

func (e *Engine) emit(ev Event) {
	h := mix(e.hash, uint64(e.now)^e.steps*golden)
	h = mix(h, hashString(ev.Kind)+ev.N)
	h = mix(h, hashString(ev.Actor))
	h = mix(h, hashString(ev.Verb))
	e.hash = mix(h, hashString(ev.Object))
	if e.cfg.Observe != nil {
		e.cfg.Observe(ev)
	}
	if e.cfg.Trace >= TraceFull || len(e.readers) > 0 {
		r := Record{Step: e.steps, At: e.Elapsed(), Kind: ev.Kind, Actor: ev.Actor, Verb: ev.Verb, Object: ev.Object, N: ev.N}
		if ev.Detail != nil {
			r.Detail = ev.Detail()
		}
		e.keep(r)
	}
}

// Note puts a record into the trace that is not part of the hash: what helps to draw
// a run and follows from its events. Step and At are filled in. Below [TraceNotes]
// it does nothing; callers that would have to work for a note ask first.
func (e *Engine) Note(r Record) {
	e.guard("Note")
	if e.cfg.Trace == TraceNotes {
		r.Step, r.At = e.steps, e.Elapsed()
		e.keep(r)
	}
}

// OnRecord lets fn read every record of the trace as it is made, but for steps, whatever
// of it is kept. It has what the record says in words, which nobody would work out
// otherwise. fn must leave the engine alone. Several may read, in the order in which they
// were given.
func (e *Engine) OnRecord(fn func(Record)) {
	e.guard("OnRecord")
	e.readers = append(e.readers, fn)
}

// keep keeps a record of the trace, or hands it over, and lets it be read.
func (e *Engine) keep(r Record) {
	if r.Kind != "step" {
		for _, read := range e.readers {
			read(r)
		}
	}
	if e.cfg.Trace < TraceFull {
		return
	}
	if e.cfg.Sink != nil {
		e.cfg.Sink(r)
		return
	}
	e.records = append(e.records, r)
}

// traceTask begins a step that resumes t.
func (e *Engine) traceTask(t *Task) {
	e.steps++
	e.hash = mix(mix(e.hash, uint64(e.now)^e.steps*golden), t.hash^t.opHash)
	if e.pulse == nil && e.cfg.Trace == TraceHash && !e.counting {
		return
	}
	if e.cfg.Trace >= TraceFull {
		e.keep(Record{Step: e.steps, At: e.Elapsed(), Kind: "step", Actor: t.ID(), Verb: t.op.Verb, Object: t.op.Key})
	}
	e.beat(t)
	if e.counting {
		e.census[t]++
	}
}

// traceEvent begins a step that fires event number seq.
func (e *Engine) traceEvent(seq uint64) {
	e.steps++
	e.hash = mix(mix(e.hash, uint64(e.now)^e.steps*golden), seq)
	if e.cfg.Trace >= TraceFull {
		e.keep(Record{Step: e.steps, At: e.Elapsed(), Kind: "step", Verb: "event", N: seq})
	}
	e.beat(nil)
}
