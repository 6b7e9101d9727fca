package provingground

import (
	"context"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// Limit bounds a search.
type Limit struct {
	Runs int           // about; 0: no limit
	Time time.Duration // 0: no limit
}

// Search is what came of looking for a bug.
type Search struct {
	Found bool
	Runs  int                // up to the one that showed it
	Bad   *scenarios.Outcome // it
}

// Look looks for the violation that a scenario is written to show, in
// histories from the seed on. Anything else that goes wrong is an [OtherError].
func Look(r *scenarios.Registry, file *scenarios.File, selection explore.Selection, seed uint64, limit Limit) (Search, error) {
	hunted := *file
	hunted.Expect = scenarios.Expect{} // so that the first violation ends the search
	seeds := explore.Seeds{First: seed}
	if len(selection.Plans) == 0 && selection.Depth == 0 {
		seeds.Count = uint64(limit.Runs) // one run per seed
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	explored, err := r.Explore(ctx, scenarios.Exploration{
		Files: []*scenarios.File{&hunted}, Search: selection, For: limit.Time, Seeds: seeds,
		Progress: func(e *scenarios.Explored) {
			if limit.Runs > 0 && e.Runs >= limit.Runs {
				stop()
			}
		},
	})
	if err != nil {
		return Search{}, fmt.Errorf("explore %s: %w", file.Path, err)
	}
	f := explored.Files[0]
	s := Search{Runs: f.Runs, Bad: f.Bad}
	switch {
	case f.Bad == nil:
		return s, nil
	case f.Bad.Result == scenarios.Violated && f.Bad.Property == file.Expect.Violates:
		s.Found = true
		return s, nil
	}
	return s, &OtherError{f.Bad}
}

// OtherError says that a search has met something else than it was looking for.
type OtherError struct{ Outcome *scenarios.Outcome }

// Error says what.
func (e *OtherError) Error() string {
	o := e.Outcome
	return fmt.Sprintf("%s, seed %d: %s %s: %s %v", o.File.Path, o.Seed, o.Result, o.Property, o.Found, o.Err)
}

// Unwrap returns the error of a run that could not be made.
func (e *OtherError) Unwrap() error { return e.Outcome.Err }
