package cluster

import (
	"context"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// OpenWatch opens a watch for code that reads it by itself.
func (c caller) OpenWatch(ctx context.Context, req *apiserver.Request) (apiserver.Stream, error) {
	s := &stream{}
	own := *req
	s.session = c.proc.openWatch(&own, s)
	c.proc.streams = append(c.proc.streams, s.session)
	return s, nil
}

// stream is the client's end of a watch. It is readable from the start: what a
// real client learns from the response header, it learns from the first event.
type stream struct {
	session *session
	events  []apiserver.Event
	over    bool
	ready   func()
}

var _ apiserver.Stream = (*stream)(nil)

func (s *stream) refused(err error) { s.ended(err) }

func (s *stream) event(ev apiserver.Event) {
	s.events = append(s.events, ev)
	s.signal()
}

func (s *stream) ended(error) {
	s.over = true
	s.signal()
}

func (s *stream) signal() {
	if s.ready != nil {
		s.ready()
	}
}

// Next implements apiserver.Stream.
func (s *stream) Next() (apiserver.Event, bool) {
	if len(s.events) == 0 {
		return apiserver.Event{}, false
	}
	ev := s.events[0]
	s.events = s.events[1:]
	return ev, true
}

// Ended implements apiserver.Stream.
func (s *stream) Ended() bool { return s.over && len(s.events) == 0 }

// OnReady implements apiserver.Stream.
func (s *stream) OnReady(fn func()) {
	s.ready = fn
	if len(s.events) > 0 || s.over {
		fn()
	}
}

// Stop implements apiserver.Stream.
func (s *stream) Stop() {
	s.session.stop()
	s.events, s.over = nil, true
}
