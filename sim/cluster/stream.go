package cluster

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// OpenWatch opens a watch for code that reads it by itself. It parks the running
// task until the API server has accepted or refused.
func (c caller) OpenWatch(ctx context.Context, req *apiserver.Request) (apiserver.Stream, error) {
	p := c.proc
	p.eng.Enter()
	own := *req
	s := &stream{request: req}
	op := engine.Op{Verb: "watch", Key: p.cluster.keys.of(req)}
	err := p.proc.Await(ctx, op, func(w *engine.Wait) {
		s.opening = w
		s.session = p.openWatch(&own, s)
		p.streams = append(p.streams, s.session)
	})
	switch {
	case err != nil:
		err = transportError(req, err)
	case s.refusal != nil:
		err = s.refusal
	default:
		return s, nil
	}
	if s.session != nil {
		s.Stop()
	}
	return nil, err
}

// stream is the client's end of a watch.
type stream struct {
	session *session
	request *apiserver.Request
	opening *engine.Wait // until the server's answer is there
	refusal error
	events  []apiserver.Event
	over    bool
	ready   func()
}

var (
	_ apiserver.Stream = (*stream)(nil)
	_ opener           = (*stream)(nil)
)

// opened implements opener.
func (s *stream) opened() { s.answered(nil) }

// refused implements sink. A revision that is too old is told inside the stream.
func (s *stream) refused(err error) {
	var status *apierrors.StatusError
	if expired(err) && errors.As(err, &status) {
		s.events = append(s.events, apiserver.Event{Type: watch.Error, Status: &status.ErrStatus})
		err = nil
	}
	s.finish(err)
}

func (s *stream) answered(err error) {
	if w := s.opening; w != nil {
		s.opening, s.refusal = nil, err
		w.Done()
	}
}

func (s *stream) event(ev apiserver.Event) {
	s.events = append(s.events, ev)
	s.signal()
}

// ended implements sink. How a stream ended that was open cannot be told, as in
// client-go.
func (s *stream) ended(err error) {
	if err != nil {
		err = transportError(s.request, err)
	}
	s.finish(err)
}

func (s *stream) finish(err error) {
	s.over = true
	s.leave()
	s.answered(err)
	s.signal()
}

// leave lets the process forget the session.
func (s *stream) leave() {
	p := s.session.proc
	p.streams = slices.DeleteFunc(p.streams, func(x *session) bool { return x == s.session })
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
	s.leave()
	s.events, s.over = nil, true
}
