package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	untilTries = 120
	untilPause = 250 * time.Millisecond
)

// step takes one step and compares its answer. The error means that the case
// cannot go on; an answer that is only wrong is a difference.
func (run *caseRun) step(ctx context.Context, s *Step) ([]Difference, error) {
	switch s.Verb {
	case "sleep":
		pause(ctx, time.Duration(s.WaitSeconds*float64(time.Second)))
		return nil, ctx.Err()
	case "compact":
		return nil, run.target.Compact(ctx)
	case "restart":
		return nil, run.target.Restart(ctx)
	}
	want, err := run.expectation(s)
	if err != nil {
		return nil, err
	}
	compare := &comparison{symbols: run.symbols, dumps: dumpCases[run.c.Number()]}
	if s.Verb == "events" {
		return run.events(ctx, s, want, compare)
	}
	answer, err := run.answer(ctx, s)
	if err != nil {
		return nil, err
	}
	run.scope.answers[s.ID] = answer.Body
	compare.answer(want, answer)
	return compare.diffs, nil
}

// expectation is the record with the names of this run in it.
func (run *caseRun) expectation(s *Step) (*Expect, error) {
	e := *s.Expect
	var err error
	if e.Fields, err = run.substituted(e.Fields); err != nil {
		return nil, err
	}
	if e.Status, err = run.substituted(e.Status); err != nil {
		return nil, err
	}
	e.Warnings = append([]string(nil), e.Warnings...)
	for i := range e.Warnings {
		if e.Warnings[i], err = run.scope.text(e.Warnings[i]); err != nil {
			return nil, err
		}
	}
	if e.Text != nil {
		text, err := run.scope.text(*e.Text)
		if err != nil {
			return nil, err
		}
		e.Text = &text
	}
	e.Events = append([]ExpectEvent(nil), e.Events...)
	for i := range e.Events {
		if e.Events[i].Fields, err = run.substituted(e.Events[i].Fields); err != nil {
			return nil, err
		}
		if e.Events[i].Status, err = run.substituted(e.Events[i].Status); err != nil {
			return nil, err
		}
	}
	return &e, nil
}

func (run *caseRun) substituted(m map[string]any) (map[string]any, error) {
	if m == nil {
		return nil, nil
	}
	v, err := run.scope.value(m)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// answer makes the request of a step, again and again if it says until.
func (run *caseRun) answer(ctx context.Context, s *Step) (*Answer, error) {
	req, err := s.request(run.scope)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		answer, err := run.once(ctx, s, req)
		if err != nil {
			return nil, err
		}
		if s.Until == nil || try == untilTries || run.met(s.Until, answer) {
			run.remember(s, req, answer)
			return answer, nil
		}
		pause(ctx, untilPause)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (run *caseRun) once(ctx context.Context, s *Step, req *request) (*Answer, error) {
	if s.Verb != "watch" {
		resp, err := run.target.send(ctx, req)
		if err != nil {
			return nil, err
		}
		return readAnswer(resp)
	}
	ctx, cancel := context.WithCancel(ctx)
	resp, err := run.target.send(ctx, req)
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel()
		return readAnswer(resp)
	}
	run.streams[s.ID] = openStream(resp.Body, cancel)
	return newAnswer(resp), nil
}

func (run *caseRun) met(until *Until, answer *Answer) bool {
	if until.Code != 0 && answer.Code != until.Code {
		return false
	}
	if until.Path == "" {
		return true
	}
	value, err := Lookup(answer.Body, until.Path)
	if err != nil {
		return false
	}
	wanted, err := run.scope.text(until.Value)
	return err == nil && strings.Contains(plain(value), wanted)
}

// remember notes objects outside the case's namespaces.
func (run *caseRun) remember(s *Step, req *request, answer *Answer) {
	if answer.Code != http.StatusCreated || s.Verb != "create" || s.Namespace != "" {
		return
	}
	if name, err := Lookup(answer.Body, "metadata.name"); err == nil && name != Absent && name != nil {
		run.made = append(run.made, fmt.Sprintf("%s/%v", strings.SplitN(req.path, "?", 2)[0], name))
	}
}

// events takes what a watch got since the last look.
func (run *caseRun) events(ctx context.Context, s *Step, want *Expect, compare *comparison) ([]Difference, error) {
	watch, ok := run.streams[s.Watch]
	if !ok {
		compare.add(Difference{Field: "events", Want: show(want.Events), Got: "watch " + s.Watch + " was refused"})
		return compare.diffs, nil
	}
	patience := defaultPatience
	if s.WaitSeconds > 0 {
		patience = time.Duration(s.WaitSeconds * float64(time.Second))
	}
	got, ended := watch.take(ctx, s.Count, patience)
	compare.events(want, got, ended)
	return compare.diffs, nil
}
