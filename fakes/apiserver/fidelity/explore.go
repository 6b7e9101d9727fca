package fidelity

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
)

// A Plan says which generated cases to run.
type Plan struct {
	Sequences int
	Calls     int // of each sequence, about
	Seed      int // of the first sequence; the next has the next
	Workers   int // sequences side by side

	// Resources are what the calls are about; empty means all that are known.
	Resources []string

	// Reality makes the real server's target for a sequence; the targets are
	// lasting and have names of their own. Fake makes a new fake.
	Reality, Fake func() (conformance.Target, error)

	// ShrinkTime is for making each divergence small.
	ShrinkTime time.Duration

	// Found is called with each divergence that is not like one before, one at a
	// time; Done with each sequence. Either may be nil.
	Found func(seed int, d *Divergence)
	Done  func(sequences int, t Tally)
}

// Outcome is what became of a plan.
type Outcome struct {
	Tally
	Sequences int
	// Diverged counts sequences by the signature of their divergence.
	Diverged map[string]int
	// Fleeting counts sequences that diverged, and did not when they were run again:
	// a second began between the call on the one server and on the other, and what
	// a write at another second does, such as the time of an owner, was different.
	Fleeting int
	Stale    []string // known differences that were not met
}

// repeats is how often a divergence may fail to come again until it is fleeting.
const repeats = 2

// Explore runs generated cases on both servers in lock-step.
func Explore(ctx context.Context, p Plan) (*Outcome, error) {
	reality, err := p.Reality()
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, reality); err != nil {
		return nil, err
	}
	e := &exploration{plan: p, known: Known(), outcome: Outcome{Diverged: map[string]int{}}}
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(p.Workers, 1) {
		workers.Go(func() {
			for seed := range next {
				e.sequence(ctx, seed)
			}
		})
	}
	for i := range p.Sequences {
		if ctx.Err() != nil || e.failed() != nil {
			break
		}
		next <- p.Seed + i
	}
	close(next)
	workers.Wait()
	e.outcome.Stale = e.known.Stale()
	return &e.outcome, e.failed()
}

// prepare makes the custom resource on a server that lasts.
func prepare(ctx context.Context, t conformance.Target) error {
	if !t.Lasting {
		return nil
	}
	stage := &conformance.Case{Name: "gen-998-stage", Steps: []conformance.Step{{ID: "crd", Verb: "raw", Method: http.MethodPost,
		Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", RawBody: stringOf(thingDefinition), ContentType: "application/yaml"}}}
	cv, err := conformance.Converse(ctx, t, stage)
	if err != nil {
		return fmt.Errorf("real server: %w", err)
	}
	defer cv.Close(ctx)
	answer, err := cv.Take(ctx, &stage.Steps[0])
	if err != nil || (answer.Code != http.StatusCreated && answer.Code != http.StatusConflict) {
		return fmt.Errorf("define the custom resource on the real server: %w, %+v", err, answer)
	}
	return nil
}

func stringOf(s string) *string { return &s }

type exploration struct {
	plan  Plan
	known *KnownDifferences

	mu      sync.Mutex
	outcome Outcome
	err     error
}

func (e *exploration) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// sequence runs the case of one seed.
func (e *exploration) sequence(ctx context.Context, seed int) {
	c := Calls(e.plan.Calls, e.plan.Resources...).Example(seed)
	c.Name = fmt.Sprintf("gen-999-seed%d", seed)
	d, tally, err := e.run(ctx, c)
	fleeting := d != nil && err == nil && !e.again(ctx, c, d)
	first := false
	e.mu.Lock()
	e.outcome.Sequences++
	e.outcome.Add(tally)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("sequence with seed %d: %w", seed, err)
	}
	switch {
	case fleeting:
		e.outcome.Fleeting++
	case d != nil:
		e.outcome.Diverged[d.Signature()]++
		first = e.outcome.Diverged[d.Signature()] == 1
	}
	if e.plan.Done != nil {
		e.plan.Done(e.outcome.Sequences, e.outcome.Tally)
	}
	e.mu.Unlock()
	if !first || e.plan.Found == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, e.plan.ShrinkTime)
	d = Shrink(limited, d, func(ctx context.Context, c *conformance.Case) *Divergence {
		found, _, err := e.run(ctx, c)
		if err != nil {
			return nil // it may be the end of the time for shrinking
		}
		return found
	})
	cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.plan.Found(seed, d)
}

// again reports whether a case diverges in the same way when it is run again.
func (e *exploration) again(ctx context.Context, c *conformance.Case, d *Divergence) bool {
	for range repeats {
		found, _, err := e.run(ctx, c)
		if err != nil || found != nil && found.Signature() == d.Signature() {
			return true
		}
	}
	return false
}

func (e *exploration) run(ctx context.Context, c *conformance.Case) (*Divergence, Tally, error) {
	reality, err := e.plan.Reality()
	if err != nil {
		return nil, Tally{}, err
	}
	fake, err := e.plan.Fake()
	if err != nil {
		return nil, Tally{}, err
	}
	fake.Unique = reality.Unique
	return (&Comparison{Known: e.known}).Run(ctx, c, reality, fake)
}

// Summary is the outcome on one line.
func (o *Outcome) Summary() string {
	n := 0
	for _, times := range o.Diverged {
		n += times
	}
	text := fmt.Sprintf("%d sequences, %d calls: %d agreed, %d differed in a known way, %d refused as not modelled; %d sequences diverged, in %d ways",
		o.Sequences, o.Calls, o.Agreed, o.Known, o.Refused, n, len(o.Diverged))
	if o.Fleeting > 0 {
		text += fmt.Sprintf("; %d did once and not again, because of the second in which they were made", o.Fleeting)
	}
	return text
}

// CaseOf is the case file of a divergence: it fails on the fake until the fault
// is gone.
func CaseOf(seed int, d *Divergence) *conformance.Case {
	c := *d.Case
	c.Name = "gen-999-" + strings.ToLower(d.Step.Verb) + "-seed" + strconv.Itoa(seed)
	c.About = "Generated from seed " + strconv.Itoa(seed) + ": " + strings.ReplaceAll(d.String(), "\n", " ")
	conformance.Finish(&c)
	return &c
}
