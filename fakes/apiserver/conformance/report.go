package conformance

import (
	"fmt"
	"io"
)

// Verdict is what became of a case once excuses are taken into account.
type Verdict int

// The verdicts.
const (
	Agreed   Verdict = iota // every compared answer is the recorded one
	Excused                 // all differences are out of scope
	Differed                // an answer that should be right is not
	Broken                  // the case could not be run to its end
)

func (v Verdict) String() string {
	return [...]string{"agreed", "excused", "differed", "broken"}[v]
}

// Verdict judges a result by the exclusions: see [Exclusion].
func (r *Result) Verdict(excluded []Exclusion) Verdict {
	verdict := Agreed
	for i := range r.Outcomes {
		for _, d := range r.Outcomes[i].Differences {
			if excuse(excluded, r.Case, r.Outcomes[i].Step, d) == nil {
				return Differed
			}
			verdict = Excused
		}
	}
	if r.Err != nil {
		if excuse(excluded, r.Case, nil, Difference{}) == nil {
			return Broken
		}
		return Excused
	}
	return verdict
}

// First is the first step that is not as recorded, and how; nil if all are.
// Excused differences are passed over.
func (r *Result) First(excluded []Exclusion) (*Step, *Difference) {
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		for j := range o.Differences {
			if excuse(excluded, r.Case, o.Step, o.Differences[j]) == nil {
				return o.Step, &o.Differences[j]
			}
		}
	}
	return nil, nil
}

// Needless returns the exclusions that excused nothing: what they name has come
// right, or is not there.
func (r *Report) Needless() []Exclusion {
	needed := map[*Exclusion]bool{}
	for _, result := range r.Results {
		for i := range result.Outcomes {
			for _, d := range result.Outcomes[i].Differences {
				needed[excuse(r.Excluded, result.Case, result.Outcomes[i].Step, d)] = true
			}
		}
		if result.Err != nil {
			needed[excuse(r.Excluded, result.Case, nil, Difference{})] = true
		}
	}
	var out []Exclusion
	for i := range r.Excluded {
		if !needed[&r.Excluded[i]] {
			out = append(out, r.Excluded[i])
		}
	}
	return out
}

// Report is the outcome of many cases.
type Report struct {
	Results []*Result
	// Excluded is what is known to be out of scope.
	Excluded []Exclusion
}

// Score counts.
type Score struct {
	// Steps of all cases, in scope or not; a case that broke off counts with
	// all its steps.
	StepsRight, Steps int
	Cases             map[Verdict]int
}

// Steps counts the recorded steps and those of them that went right.
func (r *Result) Steps() (right, all int) {
	for i := range r.Case.Steps {
		if r.Case.Steps[i].Expect != nil {
			all++
		}
	}
	for i := range r.Outcomes {
		if r.Outcomes[i].Agreed() {
			right++
		}
	}
	return right, all
}

// Score counts what went right.
func (r *Report) Score() Score {
	s := Score{Cases: map[Verdict]int{}}
	for _, result := range r.Results {
		right, steps := result.Steps()
		s.StepsRight += right
		s.Steps += steps
		s.Cases[result.Verdict(r.Excluded)]++
	}
	return s
}

// String is the score on one line.
func (s Score) String() string {
	total := 0
	for _, n := range s.Cases {
		total += n
	}
	return fmt.Sprintf("%d of %d recorded steps right (%.1f %%); cases: %d agreed, %d excused, %d differed, %d broken, of %d",
		s.StepsRight, s.Steps, 100*float64(s.StepsRight)/float64(max(s.Steps, 1)),
		s.Cases[Agreed], s.Cases[Excused], s.Cases[Differed], s.Cases[Broken], total)
}

// Write prints the score, and for every case that has differences all of them;
// those that are excused only if all is set.
func (r *Report) Write(w io.Writer, all bool) {
	fmt.Fprintln(w, r.Score())
	for _, result := range r.Results {
		verdict := result.Verdict(r.Excluded)
		if verdict == Agreed || (verdict == Excused && !all) {
			continue
		}
		fmt.Fprintf(w, "\n%s (%s): %s\n", result.Case.Name, verdict, result.Case.About)
		for i := range result.Outcomes {
			r.writeOutcome(w, result.Case, &result.Outcomes[i], all)
		}
		if result.Err != nil {
			fmt.Fprintf(w, "  broke off: %v\n", result.Err)
		}
	}
}

func (r *Report) writeOutcome(w io.Writer, c *Case, o *Outcome, all bool) {
	for _, d := range o.Differences {
		e := excuse(r.Excluded, c, o.Step, d)
		switch {
		case e == nil:
			fmt.Fprintf(w, "  %s: %s\n", o.Step.ID, d)
		case all:
			fmt.Fprintf(w, "  %s: %s [%s]\n", o.Step.ID, d, e.Reason)
		}
	}
}
