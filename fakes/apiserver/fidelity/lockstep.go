package fidelity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// A Divergence is the first place of a case where two servers answered
// differently.
type Divergence struct {
	// Case is what was said up to there. The answers of the first server, the
	// real one, are its expectations.
	Case *conformance.Case
	// Step is the one that was answered differently, the last of Case.
	Step        *conformance.Step
	Differences []conformance.Difference
}

// String is the divergence on one line.
func (d *Divergence) String() string {
	s := d.Step
	return fmt.Sprintf("%s %s %s: %s", s.Verb, strings.TrimSpace(s.Resource+" "+s.Subresource+" "+s.Patch), s.ID, d.Differences[0])
}

// Tally counts calls and those that were answered alike, or with a known
// difference.
type Tally struct {
	Calls, Agreed, Known int
	// Refused are those that the fake answered with 501, naming what it does not
	// model. A case ends with the first.
	Refused int
}

// Add adds other to t.
func (t *Tally) Add(other Tally) {
	t.Calls += other.Calls
	t.Agreed += other.Agreed
	t.Known += other.Known
	t.Refused += other.Refused
}

// Comparison runs cases on two servers in lock-step.
type Comparison struct {
	// Known differences are passed over.
	Known *KnownDifferences
}

const (
	// propagation is how long a real server may take until a watch cache has seen
	// a write that was answered, and a watch the event.
	propagation = 60 * time.Millisecond
	// settling is how long until its admission has.
	settling = 4 * propagation
	patience = 3 * time.Second
	// inProcess is the patience with two fakes, which have no lag.
	inProcess = 3 * propagation
)

// Run sends each step of a case to the real server, then to the fake, and
// compares the answers, until they differ. The case is not changed. The error
// means that a server could not be asked.
func (cmp *Comparison) Run(ctx context.Context, c *conformance.Case, reality, fake conformance.Target) (*Divergence, Tally, error) {
	real, err := conformance.Converse(ctx, reality, c)
	if real != nil {
		defer real.Close(ctx)
	}
	if err != nil {
		return nil, Tally{}, fmt.Errorf("real server: %w", err)
	}
	twin, err := conformance.Converse(ctx, fake, c)
	if twin != nil {
		defer twin.Close(ctx)
	}
	if err != nil {
		return nil, Tally{}, fmt.Errorf("fake: %w", err)
	}
	told := *c
	told.Steps = nil
	l := &lockstep{Comparison: cmp, told: &told, real: real, twin: twin, recorder: conformance.NewRecorder(real.Vars()), patience: patience}
	if !reality.Lasting {
		l.patience = inProcess
	}
	for i := range c.Steps {
		d, err := l.step(ctx, c.Steps[i])
		if err != nil || d != nil || l.tally.Refused > 0 {
			return d, l.tally, err
		}
	}
	return nil, l.tally, nil
}

type lockstep struct {
	*Comparison
	told     *conformance.Case
	real     *conformance.Conversation
	twin     *conformance.Conversation
	recorder *conformance.Recorder
	tally    Tally
	refused  bool
	patience time.Duration // for events that one server has sent and the other not yet
}

func (l *lockstep) step(ctx context.Context, s conformance.Step) (*Divergence, error) {
	if unknown(&s, l.told) {
		return nil, nil // it refers to a step that was left out
	}
	l.recorder.Sending(&s)
	var diffs []conformance.Difference
	var err error
	if s.Verb == "events" {
		diffs, err = l.events(ctx, &s)
	} else {
		diffs, err = l.answers(ctx, &s)
	}
	l.told.Steps = append(l.told.Steps, s)
	switch {
	case err != nil:
		var missing *conformance.MissingAnswer
		if errors.As(err, &missing) {
			l.told.Steps = l.told.Steps[:len(l.told.Steps)-1]
			return nil, nil
		}
		return nil, fmt.Errorf("step %s (%s %s): %w", s.ID, s.Verb, s.Resource, err)
	case s.Note == setUp:
		last := &l.told.Steps[len(l.told.Steps)-1]
		last.Expect, last.Show = &conformance.Expect{}, nil
		return nil, nil
	}
	l.tally.Calls++
	if l.refused {
		l.tally.Refused++
		return nil, nil
	}
	switch left := l.Known.without(&s, diffs); {
	case len(diffs) == 0:
		l.tally.Agreed++
	case len(left) == 0:
		l.tally.Known++
	default:
		d := &Divergence{Case: l.told, Step: &l.told.Steps[len(l.told.Steps)-1], Differences: left}
		return d, nil
	}
	return nil, nil
}

func (l *lockstep) answers(ctx context.Context, s *conformance.Step) ([]conformance.Difference, error) {
	if cached(s) {
		pause(ctx, propagation)
	}
	want, err := l.real.Take(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Expect, s.Show = l.recorder.Answer(s, want), []string{"*"}
	if s.Expect.Status != nil || s.Verb == "watch" {
		s.Show = nil
	}
	if believed(s) {
		pause(ctx, settling)
	}
	got, err := l.twin.Take(ctx, s)
	if err != nil {
		return nil, err
	}
	l.refused = got.Code == http.StatusNotImplemented
	return l.twin.Compare(s, s.Expect, got)
}

// events compares what a watch has got. As long as one of them has got less than
// the other, there may be more to come.
func (l *lockstep) events(ctx context.Context, s *conformance.Step) ([]conformance.Difference, error) {
	var want, got []conformance.Event
	var wantEnded, ended bool
	for waited := time.Duration(0); waited < l.patience; waited += propagation {
		pause(ctx, propagation)
		more, end, ok := l.real.Events(s.Watch)
		others, otherEnd, otherOK := l.twin.Events(s.Watch)
		if !ok || !otherOK {
			s.Expect = &conformance.Expect{}
			return nil, nil // that a watch is refused is told where it is opened
		}
		want, wantEnded = append(want, more...), wantEnded || end
		got, ended = append(got, others...), ended || otherEnd
		if len(want) == len(got) && ended == wantEnded {
			break
		}
	}
	s.Count = len(want)
	s.Expect, s.Show = l.recorder.Events(want, wantEnded), []string{"*"}
	return l.twin.CompareEvents(s, s.Expect, got, ended)
}

// cached tells that a real server answers from what its watch cache has seen.
func cached(s *conformance.Step) bool {
	version, _ := s.Query["resourceVersion"].(string)
	return (s.Verb == "watch" && version == "") || version == "0"
}

// believed tells that a write is about what the admission of a real server knows
// through watches.
func believed(s *conformance.Step) bool {
	return (s.Resource == "v1/limitranges" || s.Resource == "v1/resourcequotas") && s.Verb != "get" && s.Verb != "list" && s.Verb != "watch"
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// unknown tells that a step refers to one that is not in the case.
func unknown(s *conformance.Step, c *conformance.Case) bool {
	for _, id := range s.References() {
		found := false
		for i := range c.Steps {
			found = found || c.Steps[i].ID == id
		}
		if !found {
			return true
		}
	}
	return false
}
