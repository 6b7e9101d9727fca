package conformance

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Ask takes the steps of a case on a target and writes the answers down as the
// expectations: of each the paths that the step shows, or the whole.
func Ask(ctx context.Context, target Target, c *Case) error {
	cv, err := Converse(ctx, target, c)
	if cv != nil {
		defer cv.Close(ctx)
	}
	if err != nil {
		return err
	}
	recorder := NewRecorder(cv.Vars())
	for i := range c.Steps {
		s := &c.Steps[i]
		recorder.Sending(s)
		if err := cv.ask(ctx, recorder, s); err != nil {
			return fmt.Errorf("step %q: %w", s.ID, err)
		}
	}
	Finish(c)
	return nil
}

func (cv *Conversation) ask(ctx context.Context, recorder *Recorder, s *Step) error {
	switch {
	case s.silent():
		_, err := cv.run.step(ctx, s)
		return err
	case s.Verb == "events":
		return cv.askEvents(ctx, recorder, s)
	}
	answer, err := cv.Take(ctx, s)
	if err != nil {
		return err
	}
	s.Expect = recorder.Answer(s, answer)
	switch {
	case s.Expect.Status != nil && answer.Code >= http.StatusBadRequest, s.Verb == "watch":
		s.Show = nil
	case s.Expect.Fields == nil:
		return nil
	case len(s.Show) == 0:
		s.Show = []string{"*"}
	}
	s.Expect.Fields, err = shown(s, s.Expect.Fields)
	return err
}

func (cv *Conversation) askEvents(ctx context.Context, recorder *Recorder, s *Step) error {
	watch, ok := cv.run.streams[s.Watch]
	if !ok {
		return fmt.Errorf("watch %s was refused", s.Watch)
	}
	patience := defaultPatience
	if s.WaitSeconds > 0 {
		patience = time.Duration(s.WaitSeconds * float64(time.Second))
	}
	count := s.Count
	if count == 0 {
		count = 1 << 30 // as many as come
	}
	events, ended := watch.take(ctx, count, patience)
	s.Count, s.Expect = len(events), recorder.Events(events, ended)
	if len(s.Show) == 0 {
		s.Show = []string{"*"}
	}
	for i := range s.Expect.Events {
		var err error
		if s.Expect.Events[i].Fields, err = shown(s, s.Expect.Events[i].Fields); err != nil {
			return err
		}
	}
	return nil
}

// shown picks what a step shows of a whole answer.
func shown(s *Step, whole map[string]any) (map[string]any, error) {
	if whole == nil {
		return nil, nil
	}
	fields := make(map[string]any, len(s.Show))
	for _, path := range s.Show {
		value, err := Lookup(whole["*"], path)
		if err != nil {
			return nil, err
		}
		fields[path] = value
	}
	return fields, nil
}
