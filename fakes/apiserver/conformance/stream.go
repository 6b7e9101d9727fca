package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// stream collects the events of one open watch in the background.
type stream struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	events  []Event
	read    int           // how many of events were taken
	ended   bool          // the server closed the stream
	changed chan struct{} // closed, and replaced, at every change
}

// openStream takes over body and reads it until it ends.
func openStream(body io.ReadCloser, cancel context.CancelFunc) *stream {
	s := &stream{cancel: cancel, changed: make(chan struct{})}
	go func() {
		defer body.Close()
		d := json.NewDecoder(body)
		d.UseNumber()
		for {
			var ev Event
			err := d.Decode(&ev)
			s.mu.Lock()
			if err != nil {
				s.ended = true
			} else if !periodicBookmark(ev) {
				s.events = append(s.events, ev)
			}
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// close ends the watch.
func (s *stream) close() { s.cancel() }

const (
	defaultPatience = 2500 * time.Millisecond
	surplusPatience = 350 * time.Millisecond
)

// take waits until count events are there or patience has passed, then a little
// more for surplus ones, and returns all events since the last call.
func (s *stream) take(ctx context.Context, count int, patience time.Duration) ([]Event, bool) {
	s.await(ctx, patience, func() bool { return len(s.events)-s.read >= count || s.ended })
	s.await(ctx, surplusPatience, func() bool { return s.ended })
	return s.drain()
}

// drain returns all events since the last call.
func (s *stream) drain() (events []Event, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.events[s.read:]
	s.read = len(s.events)
	return out, s.ended
}

// await returns when done (called with the lock held) or after patience.
func (s *stream) await(ctx context.Context, patience time.Duration, done func() bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		s.mu.Lock()
		finished, changed := done(), s.changed
		s.mu.Unlock()
		if finished {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// periodicBookmark tells bookmarks that only report progress; when they come
// is a matter of time, so they are not compared.
func periodicBookmark(ev Event) bool {
	if ev.Type != "BOOKMARK" {
		return false
	}
	end, _ := Lookup(ev.Object, `metadata.annotations["k8s.io/initial-events-end"]`)
	return end != "true"
}

// events compares what a watch got with its record.
func (c *comparison) events(want *Expect, got []Event, ended bool) {
	for i := 0; i < max(len(want.Events), len(got)); i++ {
		at := fmt.Sprintf("events[%d]", i)
		switch {
		case i >= len(got):
			c.add(Difference{Field: at, Want: want.Events[i].Type + " " + show(want.Events[i].Fields), Got: Absent})
			continue
		case i >= len(want.Events):
			c.add(Difference{Field: at, Want: Absent, Got: got[i].Type + " " + show(got[i].Object)})
			continue
		}
		w, g := want.Events[i], got[i]
		if w.Type != g.Type {
			c.add(Difference{Field: at + ".type", Want: w.Type, Got: g.Type + " " + show(g.Object)})
			continue
		}
		if w.Status != nil {
			c.status(at+".status", w.Status, g.Object)
		}
		c.fields(at+".fields", w.Fields, g.Object)
	}
	if want.Ended != ended {
		c.add(Difference{Field: "ended", Want: show(want.Ended), Got: show(ended)})
	}
}
