package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/shrink"
)

// Failure is a failing run, made as small as the budget allowed.
type Failure struct {
	// First is the run as it was found, with its schedule.
	First *Result

	// Small is the smallest run found that fails in the same way, with its
	// schedule and trace.
	Small *Result

	// Tries is how many runs shrinking made.
	Tries int

	// Replay is the file that repeats Small, or empty if it was not written.
	Replay string

	// Unsaved says why there is no replay file although one was wanted. What was
	// found is no less true for that.
	Unsaved error

	// Picture is a page of HTML beside the replay file that shows Small, or empty if
	// it was not written; Undrawn says why.
	Picture string
	Undrawn error
}

// Story tells the smallest failing run in plain words.
func (f *Failure) Story() []string { return Story(f.Small.Records) }

// storyLines is how much of a story a message shows.
const storyLines = 60

// String is the whole message: the property, what it means, the story, how far
// the history was shrunk and where the replay file is.
func (f *Failure) String() string {
	var b strings.Builder
	if v := f.Small.Violation(); v != nil {
		fmt.Fprintf(&b, "property broken: %s\n", v.Property)
		if v.Meaning != "" {
			fmt.Fprintf(&b, "  it means: %s\n", v.Meaning)
		}
		fmt.Fprintf(&b, "  seen after %s of virtual time: %v\n", clockText(v.At), v.Err)
	} else {
		fmt.Fprintf(&b, "the run failed after %s of virtual time: %s\n", clockText(f.Small.Elapsed), failureText(f.Small.Err))
	}
	b.WriteString("\nwhat happened:\n")
	b.WriteString(indent(abridge(f.Story(), storyLines)))
	fmt.Fprintf(&b, "\nfound at seed %d; history shrunk from %s to %s in %s\n",
		f.First.Seed, sizeText(f.First.Schedule), sizeText(f.Small.Schedule), count(f.Tries, "run"))
	if f.Replay != "" {
		fmt.Fprintf(&b, "replay: %s\n", f.Replay)
	}
	if f.Picture != "" {
		fmt.Fprintf(&b, "picture: %s\n", f.Picture)
	}
	if f.Undrawn != nil {
		fmt.Fprintf(&b, "no picture: %v\n", f.Undrawn)
	}
	if f.Unsaved != nil {
		fmt.Fprintf(&b, "no replay file: %v\n", f.Unsaved)
	}
	return b.String()
}

// failureText adds the stack to a panic.
func failureText(err error) string {
	var p *engine.PanicError
	if errors.As(err, &p) {
		return fmt.Sprintf("%+v", p)
	}
	return err.Error()
}

// sizeText counts what is not the simplest about a schedule.
func sizeText(s engine.Schedule) string {
	return count(len(s.Picks), "choice") + " and " + count(len(s.Blocks), "switch")
}

// count is a number of things in words.
func count(n int, thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "ch"):
		thing += "es"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// investigate repeats a failing seed with its schedule, shrinks it, and tells
// its story.
func (o *Options) investigate(seed uint64, build Build) (*Failure, error) {
	h := how{source: engine.NewSeed(seed), seed: seed, record: true}
	first := once(o, build, h)
	return o.reduce(first, build)
}

// InvestigateWith repeats a failing run whose choices come from src, shrinks it within
// o.Shrink and writes it into o.Artifacts. An error says that it did not fail again.
func InvestigateWith(o Options, seed uint64, src engine.Source, build Build) (*Failure, error) {
	o = o.withDefaults()
	return o.reduce(once(&o, build, how{source: src, seed: seed, record: true}), build)
}

// reduce shrinks a recorded failing run. An error says that the failure did not
// repeat.
func (o *Options) reduce(first *Result, build Build) (*Failure, error) {
	f := &Failure{First: first}
	want := first.signature()
	if want == "" {
		return nil, fmt.Errorf("%s: seed %d failed and then passed: %w", o.Name, first.Seed,
			&NondeterminismError{Seed: first.Seed, Second: first.Hash})
	}
	best := first.Schedule
	if o.Shrink.Runs > 0 {
		best, f.Tries = o.shrink(first, want, build)
	}
	f.Small = once(o, build, how{source: engine.NewReplay(best), seed: first.Seed, trace: engine.TraceNotes})
	// Recorded, the schedule also lists decisions that a replay makes by itself.
	f.Small.Schedule = best
	if f.Small.signature() != want {
		return nil, fmt.Errorf("%s: the shrunk run does not fail again: %w", o.Name,
			&NondeterminismError{Seed: first.Seed, First: first.Hash, Second: f.Small.Hash})
	}
	if o.Artifacts == NoArtifacts {
		return f, nil
	}
	if f.Replay, f.Unsaved = newReplay(o.Name, f.Small).Save(o.Artifacts); f.Unsaved == nil {
		f.Picture, f.Undrawn = f.draw(o)
	}
	return f, nil
}

// shrink looks for a smaller schedule that fails in the same way. Its time is
// real time, so a slow machine may report a longer history, never another bug.
func (o *Options) shrink(first *Result, want string, build Build) (engine.Schedule, int) {
	deadline := time.Now().Add(o.Shrink.Time)
	fails := func(s engine.Schedule) bool {
		r := once(o, build, how{source: engine.NewReplay(s), seed: first.Seed})
		return r.signature() == want
	}
	res := shrink.Shrink(first.Schedule, fails, shrink.Budget{
		Runs:    o.Shrink.Runs,
		Expired: func() bool { return time.Now().After(deadline) },
	})
	return res.Schedule, res.Runs
}
