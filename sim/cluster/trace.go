package cluster

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// OnRecord lets fn read the trace as it is made; see [engine.Engine.OnRecord].
func (c *Cluster) OnRecord(fn func(engine.Record)) {
	c.full = true
	c.eng.OnRecord(fn)
}

// emit puts something that happens rarely into the trace.
func (c *Cluster) emit(kind, actor, verb, object string, n uint64, detail string) {
	ev := engine.Event{Kind: kind, Actor: actor, Verb: verb, Object: object, N: n}
	if c.full {
		ev.Detail = func() string { return detail }
	}
	c.eng.Emit(ev)
}

// traceCall tells what an API server answered.
func (c *Cluster) traceCall(r *request) {
	ev := engine.Event{Kind: "api", Actor: r.proc.name, Verb: r.verb, Object: r.key, N: code(r.err)}
	if c.full {
		ev.Detail = func() string { return r.verb + " " + r.key + " -> " + outcome(r.err) + r.via() }
	}
	c.noteCall(r)
	c.eng.Emit(ev)
}

// noteCall draws the way of a request to its API server, and what came of it there.
func (c *Cluster) noteCall(r *request) {
	if !c.notes {
		return
	}
	c.chronicle.follow(r.proc.name)
	note := engine.Record{Kind: NoteCall, Actor: r.proc.name, Verb: r.verb, Object: r.key, N: code(r.err), Since: r.moved}
	if r.inst != nil {
		note.Peer = r.inst.name
	}
	c.eng.Note(note)
	r.moved = c.eng.Elapsed()
}

// noteAnswer draws the way back.
func (c *Cluster) noteAnswer(r *request) {
	if c.notes {
		c.eng.Note(engine.Record{
			Kind: NoteAnswer, Actor: r.proc.name, Peer: r.inst.name, Verb: r.verb, Object: r.key, N: code(r.err), Since: r.moved,
		})
	}
}

// via names the API server if there is a choice.
func (r *request) via() string {
	if len(r.cluster.instances) < 2 || r.inst == nil {
		return ""
	}
	return " (" + r.inst.name + ")"
}

// traceError tells that the caller gets an error which no API server sent.
func (c *Cluster) traceError(r *request) {
	if code(r.err) != 0 {
		return // told when it was served
	}
	c.emit("api", r.proc.name, "error", r.key, 0, r.verb+" "+r.key+" -> no answer: "+outcome(r.err))
}

func (c *Cluster) traceRetry(r *request, seconds int) {
	c.emit("api", r.proc.name, "retry", r.key, uint64(seconds),
		fmt.Sprintf("%s %s -> %s; its client tries again in %d s", r.verb, r.key, outcome(r.err), seconds))
}

func (c *Cluster) traceWatch(s *session, err error) {
	ev := engine.Event{Kind: "watch", Actor: s.proc.name, Verb: "open", Object: s.key, N: code(err)}
	if c.full {
		ev.Detail = func() string { return "watch " + s.key + " -> " + outcome(err) }
	}
	c.eng.Emit(ev)
}

// seen is the word for a watch event in the trace and in the story.
func seen(t watch.EventType) string {
	switch t {
	case watch.Added:
		return "creation"
	case watch.Deleted:
		return "deletion"
	default:
		return "update"
	}
}

// traceEvent tells that a cache takes over a change.
func (c *Cluster) traceEvent(inf *Informer, e apiserver.Event) {
	verb := seen(e.Type)
	ev := engine.Event{Kind: "watch", Actor: inf.proc.name, Verb: verb, Object: e.Object.GetName(), N: e.Revision}
	if c.full {
		key := c.keys.object(inf.kind.resource.Resource, e.Object.GetNamespace(), e.Object.GetName())
		ev.Detail = func() string { return "its cache sees the " + verb + " of " + key }
		if s := inf.reflector.session; c.notes && s != nil && s.inst != nil {
			c.eng.Note(engine.Record{Kind: NoteEvent, Actor: inf.proc.name, Peer: s.inst.name, Verb: verb, Object: key, N: e.Revision, Since: s.sent})
		}
	}
	c.eng.Emit(ev)
}

// traceList tells that a cache takes over a whole list.
func (c *Cluster) traceList(inf *Informer, n int) {
	key := c.keys.object(inf.kind.resource.Resource, inf.namespace, inf.name)
	ev := engine.Event{Kind: "watch", Actor: inf.proc.name, Verb: "list", Object: key, N: uint64(n)}
	if c.full {
		ev.Detail = func() string { return fmt.Sprintf("its cache holds the list of %s: %d", key, n) }
	}
	c.eng.Emit(ev)
}

func (c *Cluster) traceBackoff(r *reflector, err error, d time.Duration) {
	key := c.keys.object(r.inf.kind.resource.Resource, r.inf.namespace, r.inf.name)
	c.emit("watch", r.inf.proc.name, "backoff", key, uint64(d),
		"watch of "+key+" fails: "+outcome(err)+"; again in "+d.Round(time.Millisecond).String())
}

// struck tells that a fault has struck a request.
func (r *request) struck(s *site, n uint64, detail string) {
	r.cluster.struck(s.kind.Name, r.proc.name, r.key, n, detail)
}

// struck tells that a fault has struck a watch.
func (s *session) struck(at *site, n uint64, detail string) {
	s.proc.cluster.struck(at.kind.Name, s.proc.name, s.key, n, detail)
}

// struck tells that a fault has struck.
func (c *Cluster) struck(fault, actor, object string, n uint64, detail string) {
	c.faults.count(fault)
	c.emit("fault", actor, fault, object, n, "FAULT "+fault+": "+detail)
}

// noteBegin tells that something is wrong from now on, until noteEnd with the same
// number: with an entity, or, if that is empty, wherever chance has it.
func (c *Cluster) noteBegin(fault, entity string) (span uint64) {
	c.faults.spans++
	c.eng.Note(engine.Record{Kind: NoteBegin, Actor: entity, Verb: fault, N: c.faults.spans})
	return c.faults.spans
}

// noteEnd tells that it is over.
func (c *Cluster) noteEnd(span uint64) {
	if span > 0 {
		c.eng.Note(engine.Record{Kind: NoteEnd, N: span})
	}
}
