package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Style says how text reports look. The zero value is plain text.
type Style struct {
	Colour  bool // ANSI colours, for a terminal
	Names   int  // width of the column of scenario names; see [NamesWidth]
	Verbose bool // name what was checked instead of counting it
}

// NamesWidth is the width that the names of the files need, within reason.
func NamesWidth(files []*File) int {
	wide := len("scenario")
	for _, file := range files {
		wide = max(wide, len(file.Metadata.Name))
	}
	return min(wide, 36)
}

// Colours of a terminal; only the words that carry the verdict have one.
const (
	green  = "\x1b[32m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plainC = "\x1b[0m"
)

func (s Style) paint(colour, text string) string {
	if !s.Colour {
		return text
	}
	return colour + text + plainC
}

// Verdict is the line of one scenario.
func (s Style) Verdict(v *Verdict) string {
	mark, colour, what := "ok", green, "held"
	switch {
	case v.Bad != nil && v.Bad.Result == Violated:
		mark, colour, what = "FAIL", red, fmt.Sprintf("seed %d violates %s", v.Bad.Seed, v.Bad.Property)
	case v.Bad != nil:
		mark, colour, what = "ERROR", red, fmt.Sprintf("%s at seed %d", v.Bad.Result, v.Bad.Seed)
	case v.Err != nil:
		mark, colour, what = "FAIL", red, "never violates "+v.File.Expect.Violates
	case v.File.Expect.Violates != "":
		what = fmt.Sprintf("as expected, %s violate %s", v.share(), v.File.Expect.Violates)
	}
	first := fmt.Sprintf("%-5s  %-*s %6s  ", mark, s.Names, v.File.Metadata.Name, thousands(uint64(v.Runs)))
	line := form.Wrap(first, what, lineWidth)
	return s.paint(colour, mark) + strings.TrimPrefix(line, mark)
}

// Header is the line above the verdicts.
func (s Style) Header() string {
	return fmt.Sprintf("%-5s  %-*s %6s  %s\n", "", s.Names, "scenario", "runs", "result")
}

// share is how many runs showed the expected violation: 3 of 1,500.
func (v *Verdict) share() string {
	return thousands(uint64(v.Shown)) + " of " + thousands(uint64(v.Runs))
}

// failureStory is how many events of a failing run a report tells.
const failureStory = 60

// Failure is what a person needs to understand and repeat one failing run. The
// command is what repeats it.
func (s Style) Failure(f *Failure, command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s, seed %d: %s\n", s.paint(red, "FAIL"), f.File.Metadata.Name, f.Seed, f.Property)
	b.WriteString(form.Wrap("  meaning  ", f.Meaning, lineWidth))
	b.WriteString(form.Wrap("  seen     ", "at "+clockText(f.At)+": "+f.Found, lineWidth))
	b.WriteString("\n")
	WriteStory(&b, f.Records, failureStory)
	b.WriteString("\n")
	if f.Tries > 0 {
		b.WriteString(form.Wrap("  history  ", fmt.Sprintf("shrunk from %s to %s in %s", size(f.Original), size(f.Small), Count(f.Tries, "run")), lineWidth))
	} else {
		b.WriteString(form.Wrap("  history  ", size(f.Small), lineWidth))
	}
	if f.Replay != "" {
		fmt.Fprintf(&b, "  replay   %s\n           %s\n", f.Replay, command)
	} else {
		fmt.Fprintf(&b, "  repeat   %s\n", command)
	}
	if f.Picture != "" {
		fmt.Fprintf(&b, "  picture  %s\n", f.Picture)
	}
	if f.Undrawn != nil {
		b.WriteString(form.Wrap("  warning  ", "there is no picture: "+f.Undrawn.Error(), lineWidth))
	}
	if f.Unsaved != nil {
		b.WriteString(form.Wrap("  warning  ", "there is no replay file: "+f.Unsaved.Error(), lineWidth))
	}
	return b.String()
}

// size counts what is not the simplest about a history.
func size(s engine.Schedule) string {
	return Count(len(s.Picks), "choice") + " and " + Count(len(s.Blocks), "switch")
}

// Trouble says why a scenario without a violation to show is not in order.
func (s Style) Trouble(v *Verdict) string {
	var b strings.Builder
	mark := "FAIL"
	if v.Bad != nil {
		mark = "ERROR"
	}
	where := v.File.Metadata.Name
	if v.Bad != nil {
		where += fmt.Sprintf(", seed %d", v.Bad.Seed)
	}
	fmt.Fprintf(&b, "\n%s %s\n", s.paint(red, mark), where)
	text := v.Err.Error()
	if v.Bad == nil {
		text += "; the unsafe practice is no longer unsafe, or more seeds are needed: --seeds " + fmt.Sprint(max(v.Runs*10, v.File.Explore.Seeds))
	}
	for line := range strings.Lines(text) {
		b.WriteString(form.Wrap("  ", line, lineWidth))
	}
	return b.String()
}

// Unexplained says that the run that decides against a scenario could not be
// looked into.
func (s Style) Unexplained(v *Verdict, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s, seed %d\n", s.paint(red, "ERROR"), v.File.Metadata.Name, v.Bad.Seed)
	b.WriteString(form.Wrap("  violates ", v.Bad.Property+", at "+clockText(v.Bad.At)+": "+v.Bad.Found, lineWidth))
	for line := range strings.Lines("but the run could not be looked into: " + err.Error()) {
		b.WriteString(form.Wrap("  ", line, lineWidth))
	}
	return b.String()
}

// Summary is what all verdicts together covered.
type Summary struct {
	Interrupted             bool // not all runs were made, so there is no verdict
	Scenarios, Runs, Failed int
	Steps                   uint64
	Simulated               time.Duration
	Faults                  []string // kinds of fault that struck, sorted
	Library, Own            []string // properties checked, sorted
	Shown                   []string // expected violations seen, in words
	Absent                  []string // conditions that no run has put to the test
}

// Summarise adds up verdicts.
func Summarise(verdicts []Verdict) Summary {
	var s Summary
	for i := range verdicts {
		v := &verdicts[i]
		if v.Runs == 0 {
			continue
		}
		s.Scenarios++
		s.Runs += v.Runs
		s.Steps += v.Steps
		s.Simulated += v.Simulated
		s.Faults = merge(s.Faults, v.Faults)
		if !v.OK() {
			s.Failed++
		}
		if v.Shown > 0 {
			s.Shown = append(s.Shown, fmt.Sprintf("%s (%s)", v.File.Metadata.Name, v.share()))
		}
		for _, p := range v.File.properties {
			s.Library = append(s.Library, p.Name)
		}
		for _, name := range v.Absent {
			s.Absent = append(s.Absent, v.File.Metadata.Name+"/"+name)
		}
		for _, p := range v.File.own {
			s.Own = append(s.Own, v.File.Metadata.Name+"/"+p.Name)
		}
	}
	slices.Sort(s.Library)
	s.Library = slices.Compact(s.Library)
	slices.Sort(s.Own)
	return s
}

// Summary says what was covered, and the verdict on all of it.
func (s Style) Summary(sum Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %s, %s simulated, %s\n", Count(sum.Scenarios, "scenario"), Count(sum.Runs, "run"), Roughly(sum.Simulated), Count(sum.Steps, "step"))
	list := func(title string, names []string) {
		if len(names) > 0 {
			b.WriteString(form.Wrap(title, strings.Join(names, ", "), lineWidth))
		}
	}
	list("  faults that struck   ", sum.Faults)
	s.checked(&b, sum)
	list("  expected violations  ", sum.Shown)
	if len(sum.Absent) > 0 {
		text := form.Wrap("  warning              ", "in every run something was absent that the condition names, so that it was never put to the test: "+
			strings.Join(sum.Absent, ", ")+"; is a name misspelt?", lineWidth)
		b.WriteString(strings.Replace(text, "warning", s.paint(yellow, "warning"), 1))
	}
	switch {
	case sum.Interrupted:
	case sum.Failed == 0:
		b.WriteString(s.paint(green, "every scenario showed what it is written to show") + "\n")
	case sum.Failed == 1:
		b.WriteString(s.paint(red, "1 scenario did not show what it is written to show") + "\n")
	default:
		b.WriteString(s.paint(red, Count(sum.Failed, "scenario")+" did not show what they are written to show") + "\n")
	}
	return b.String()
}

// checked says which properties were checked, or only how many of each system:
// names that are the same each time are not read twice.
func (s Style) checked(b *strings.Builder, sum Summary) {
	const title, own = "  properties checked   ", "  conditions checked   "
	groups := bySystem(sum.Library)
	switch {
	case s.Verbose:
		lead := title
		for _, group := range groups {
			b.WriteString(form.Wrap(lead, group, lineWidth))
			lead = strings.Repeat(" ", len(title))
		}
		if len(sum.Own) > 0 {
			b.WriteString(form.Wrap(own, strings.Join(sum.Own, ", "), lineWidth))
		}
		return
	case len(groups) > 0:
		for i, group := range groups {
			system, _, ok := strings.Cut(group, ": ")
			if !ok {
				system = "those built in"
			}
			groups[i] = thousands(uint64(strings.Count(group, ",")+1)) + " of " + system
		}
		b.WriteString(form.Wrap(title, strings.Join(groups, ", "), lineWidth))
	}
	if len(sum.Own) > 0 {
		b.WriteString(own + thousands(uint64(len(sum.Own))) + "\n")
	}
}

// bySystem groups sorted names of properties by their system, so that its name
// is written once.
func bySystem(names []string) []string {
	var groups []string
	last := ""
	for i, name := range names {
		system, short, ok := strings.Cut(name, ".")
		if !ok {
			system, short = "", name
		}
		if i > 0 && system == last {
			groups[len(groups)-1] += ", " + short
			continue
		}
		last = system
		if ok {
			short = system + ": " + short
		}
		groups = append(groups, short)
	}
	return groups
}
