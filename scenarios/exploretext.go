package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// Progress is one line about an exploration under way.
func (e *Explored) Progress() string {
	return fmt.Sprintf("%s, %s/s, %s, %s struck, last new coverage %s ago", Count(e.Runs, "run"), thousands(uint64(e.rate())),
		Count(e.States(), "distinct state"), Count(len(e.Faults), "kind")+" of fault", Roughly(e.Took-e.LastNew))
}

// rate is how many runs were made per second.
func (e *Explored) rate() float64 { return float64(e.Runs) / max(e.Took.Seconds(), 1e-3) }

// Exploring says what is about to be done.
func (s Style) Exploring(search explore.Selection, faults string) string {
	var b strings.Builder
	strategies, others := search.Names()
	if len(strategies) > 0 {
		b.WriteString(form.Wrap("strategies  ", "each seed picks one of "+strings.Join(strategies, ", "), lineWidth))
		of := "those of each scenario"
		if faults != "" {
			of = faults + ", in place of those of the scenarios"
		}
		b.WriteString(form.Wrap("faults      ", of, lineWidth))
	}
	if len(others) > 0 {
		b.WriteString(form.Wrap("systematic  ", strings.Join(others, ", "), lineWidth))
	}
	return b.String() + "\n" + s.Header()
}

// Explored is the line of one file.
func (s Style) explored(f *ExploredFile) string {
	mark, colour, what := "ok", green, "held"
	switch o := f.Bad; {
	case o != nil && o.Result == Violated:
		mark, colour, what = "FAIL", red, fmt.Sprintf("seed %d violates %s (%s)", o.Seed, o.Property, o.making.Search)
	case o != nil:
		mark, colour, what = "ERROR", red, fmt.Sprintf("%s at seed %d: %v", o.Result, o.Seed, o.Err)
	case f.Runs == 0:
		what = "no run was made"
	case f.Shown > 0:
		what = fmt.Sprintf("as expected, %s of %s violate %s", thousands(uint64(f.Shown)), thousands(uint64(f.Runs)), f.File.Expect.Violates)
	}
	first := fmt.Sprintf("%-5s  %-*s %6s  ", mark, s.Names, f.File.Metadata.Name, thousands(uint64(f.Runs)))
	return s.paint(colour, mark) + strings.TrimPrefix(form.Wrap(first, what, lineWidth), mark)
}

// Explored tells what was exercised, and what never was.
func (s Style) Explored(e *Explored) string {
	var b strings.Builder
	for _, f := range e.Files {
		b.WriteString(s.explored(f))
	}
	fmt.Fprintf(&b, "\n%s in %s, %s/s; %s, %s; last new coverage after %s\n", Count(e.Runs, "run"), e.Took.Round(100*time.Millisecond),
		thousands(uint64(e.rate())), Count(e.States(), "distinct state"), Count(e.Edges(), "edge"), e.LastNew.Round(100*time.Millisecond))
	list := func(title string, names []string) {
		if len(names) > 0 {
			b.WriteString(form.Wrap(title, strings.Join(names, ", "), lineWidth))
		}
	}
	searches := map[string]int{}
	var quiet, absent, unshown, untold, covered []string
	for _, f := range e.Files {
		if f.Covered != "" {
			covered = append(covered, f.File.Metadata.Name+": "+f.Covered)
		}
		for name, n := range f.Searches { // a sum
			searches[name] += n
		}
		in := func(names []string) []string {
			if len(names) == 0 {
				return nil
			}
			return []string{f.File.Metadata.Name + " (" + strings.Join(names, ", ") + ")"}
		}
		quiet = append(quiet, in(f.Quiet)...)
		absent = append(absent, in(f.Absent)...)
		if f.File.Expect.Violates != "" && f.Shown == 0 && f.Runs > 0 {
			unshown = append(unshown, in([]string{f.File.Expect.Violates})...)
		}
		if f.Untold > 0 {
			untold = append(untold, fmt.Sprintf("%s (%s, first seed %d)", f.File.Metadata.Name, Count(f.Untold, "run"), f.Late.Seed))
		}
	}
	list("  covered              ", covered)
	list("  runs by strategy     ", counts(searches))
	list("  faults that struck   ", counts(e.Faults))
	list("  faults that never    ", quiet)
	list("  conditions never met ", absent)
	list("  not shown            ", unshown)
	list("  story cut short      ", untold)
	if len(untold) > 0 {
		b.WriteString(form.Wrap("                       ", "not counted as violations: the waits of these stories were written for other faults than the runs had", lineWidth))
	}
	return b.String()
}

// counts lists names with their numbers.
func counts(numbers map[string]int) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		all = append(all, name+" "+thousands(uint64(numbers[name])))
	}
	return all
}
