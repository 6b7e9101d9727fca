package unmodified

import (
	"sync"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// stream is a watch on its way from the engine to a program: the engine puts events in,
// a goroutine of the program takes them out.
type stream struct {
	call *call            // that opened it
	from apiserver.Stream // the engine's

	mu     sync.Mutex
	events []apiserver.Event
	over   bool
	ready  func()
}

var _ apiserver.Stream = (*stream)(nil)

// newStream is called in the engine.
func newStream(c *call, from apiserver.Stream) *stream {
	s := &stream{call: c, from: from}
	from.OnReady(s.fill)
	return s
}

// fill takes what has arrived. It is called in the engine.
func (s *stream) fill() {
	s.mu.Lock()
	for {
		ev, ok := s.from.Next()
		if !ok {
			break
		}
		s.events = append(s.events, ev)
	}
	s.over = s.over || s.from.Ended()
	ready := s.ready
	s.mu.Unlock()
	if ready != nil {
		b := s.call.to.runner.bubble
		b.stimuli = append(b.stimuli, ready)
	}
}

// end ends the stream in the engine.
func (s *stream) end() { s.from.Stop() }

// Next implements apiserver.Stream.
func (s *stream) Next() (apiserver.Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == 0 {
		return apiserver.Event{}, false
	}
	ev := s.events[0]
	s.events = s.events[1:]
	return ev, true
}

// Ended implements apiserver.Stream.
func (s *stream) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over && len(s.events) == 0
}

// OnReady implements apiserver.Stream.
func (s *stream) OnReady(fn func()) {
	s.mu.Lock()
	s.ready = fn
	now := len(s.events) > 0 || s.over
	s.mu.Unlock()
	if now {
		fn()
	}
}

// Stop implements apiserver.Stream. In the engine the watch ends when nothing in the
// bubble can go on.
func (s *stream) Stop() {
	s.mu.Lock()
	s.events, s.over = nil, true
	s.mu.Unlock()
	s.call.to.gate.act(s.call.order, s.end)
}
