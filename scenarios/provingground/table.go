package provingground

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// Measurement says how much is measured.
type Measurement struct {
	Bugs       []Bug
	Strategies []string // as package explore reads them; the first is the default mix

	// Masters are how many searches are made of each bug in each way, from seeds that
	// are far apart. Each ends after about Runs runs; those of the first strategy after
	// Patience.
	Masters  int
	Runs     int
	Patience time.Duration

	// Twins are how many histories of each repaired twin have to hold, and Shrink the
	// time for making the history of each bug small.
	Twins  int
	Shrink time.Duration

	// CPU is how much processor time has been spent so far.
	CPU func() time.Duration

	Commit string // that is measured
	Log    io.Writer
}

// mastersApart is how far the seeds of two searches are apart.
const mastersApart = 1_000_000

// Figures are what came of the searches of one bug in one way.
type Figures struct {
	Strategy string
	Found    int     // of the searches
	Runs     float64 // median; of searches that have found nothing, all they have made
	Seconds  float64 // of processor time, median
	Censored bool    // the median search has found nothing
}

// Row is what is known about a bug.
type Row struct {
	Bug     Bug
	Figures []Figures
	Held    int   // histories of the twin
	Alarm   error // of the twin, which should be none
	Lines   int   // of the shrunk story
}

// Measure makes all searches.
func Measure(r *scenarios.Registry, m Measurement) ([]Row, error) {
	defer sim.LazyGC()()
	var rows []Row
	for i, b := range m.Bugs {
		row, err := m.measure(r, b)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		fmt.Fprintf(m.Log, "%2d/%d  %s\n", i+1, len(m.Bugs), row.progress())
	}
	return rows, nil
}

func (m *Measurement) measure(r *scenarios.Registry, b Bug) (Row, error) {
	row := Row{Bug: b}
	buggy, fixed, err := b.Read(r)
	if err != nil {
		return row, err
	}
	var bad *scenarios.Outcome
	for i, strategy := range m.Strategies {
		limit := Limit{Runs: m.Runs}
		if i == 0 {
			limit = Limit{Time: m.Patience}
		}
		figures, outcome, err := m.searches(r, buggy, strategy, limit)
		if err != nil {
			return row, err
		}
		if bad == nil {
			bad = outcome
		}
		row.Figures = append(row.Figures, figures)
	}
	if bad != nil {
		failure, err := r.Investigate(bad, sim.Budget{Runs: 2000, Time: m.Shrink}, sim.NoArtifacts)
		if err != nil {
			return row, fmt.Errorf("shrink a run of %s: %w", b.ID, err)
		}
		var story strings.Builder
		scenarios.WriteStory(&story, failure.Records, 0)
		row.Lines = strings.Count(story.String(), "\n")
	}
	held, err := Look(r, fixed, explore.Selection{Strategies: explore.Mix()}, 0, Limit{Runs: m.Twins})
	row.Held, row.Alarm = held.Runs, err
	return row, nil
}

// searches looks for a bug in one way from several seeds.
func (m *Measurement) searches(r *scenarios.Registry, file *scenarios.File, strategy string, limit Limit) (Figures, *scenarios.Outcome, error) {
	f := Figures{Strategy: strategy}
	selection, err := explore.Parse(strategy)
	if err != nil {
		return f, nil, err
	}
	var all []Search
	var took []time.Duration
	var bad *scenarios.Outcome
	for n := range m.Masters {
		before := m.CPU()
		s, err := Look(r, file, selection, uint64(n)*mastersApart, limit)
		took = append(took, m.CPU()-before)
		var other *OtherError
		if err != nil && !errors.As(err, &other) {
			return f, nil, fmt.Errorf("strategy %s: %w", strategy, err)
		}
		if s.Found {
			if f.Found++; bad == nil {
				bad = s.Bad
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Search) int { return cmp.Compare(a.rank(), b.rank()) })
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	f.Runs = float64(low.Runs+high.Runs) / 2
	f.Censored = !high.Found
	slices.Sort(took)
	f.Seconds = (took[(len(took)-1)/2] + took[len(took)/2]).Seconds() / 2
	return f, bad, nil
}

// rank puts searches that have found nothing behind all others.
func (s Search) rank() int {
	if !s.Found {
		return s.Runs + 1<<40
	}
	return s.Runs
}

// runs is the median of a search as it is shown.
func (f Figures) runs() string {
	if f.Censored {
		return fmt.Sprintf("> %.0f", f.Runs)
	}
	return fmt.Sprintf("%.0f", f.Runs)
}

func (row *Row) progress() string {
	var parts []string
	for _, f := range row.Figures {
		parts = append(parts, fmt.Sprintf("%s %s", f.Strategy, f.runs()))
	}
	twin := fmt.Sprintf("twin holds %d", row.Held)
	if row.Alarm != nil {
		twin = "FALSE ALARM: " + row.Alarm.Error()
	}
	return fmt.Sprintf("%-22s %d of the mix, %.1f s; %s; %s", row.Bug.ID, row.Figures[0].Found, row.Figures[0].Seconds, strings.Join(parts, ", "), twin)
}

// Write writes the tables and the stories as Markdown.
func (m *Measurement) Write(w io.Writer, rows []Row) error {
	var b strings.Builder
	m.writeRecord(&b, rows)
	m.writeStrategies(&b, rows)
	writeStories(&b, rows)
	_, err := io.WriteString(w, b.String())
	return err
}

func (m *Measurement) writeRecord(b *strings.Builder, rows []Row) {
	quick, minute, alarms := 0, 0, 0
	for _, row := range rows {
		if f := row.Figures[0]; f.Found == m.Masters {
			if f.Seconds < 5 {
				quick++
			}
			if f.Seconds < 60 {
				minute++
			}
		}
		if row.Alarm != nil {
			alarms++
		}
	}
	fmt.Fprintf(b, "## Track record\n\n%d bugs, looked for by the default mix from %d seeds each, for at most %s. "+
		"%d are found from all seeds, in less than 60 s of processor time (median); %d of them in less than 5 s. "+
		"False alarms of repaired twins: %d. Measured on %d processors (%s/%s), at commit %s.\n\n",
		len(rows), m.Masters, m.Patience, minute, quick, alarms, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, m.Commit)
	b.WriteString("| bug | class | found | runs | CPU s | story lines | twin held | last reproduced |\n|---|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		f := row.Figures[0]
		held, commit := fmt.Sprint(row.Held), m.Commit
		if row.Alarm != nil {
			held = "**false alarm**"
		}
		if f.Found == 0 {
			commit = "never"
		}
		fmt.Fprintf(b, "| [%s](%s) | %s | %d of %d | %s | %.1f | %d | %s | %s |\n", row.Bug.ID, row.Bug.Link, row.Bug.Class, f.Found, m.Masters, f.runs(), f.Seconds, row.Lines, held, commit)
	}
	b.WriteString("\nClasses: ")
	for i, c := range Classes {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(b, "%s %s", c.Letter, c.Meaning)
	}
	b.WriteString(".\n\n")
}

func (m *Measurement) writeStrategies(b *strings.Builder, rows []Row) {
	fmt.Fprintf(b, "## Ways of searching\n\nMedian runs to the first violation, of %d searches of about %d runs each (of the mix: those above). "+
		"A number behind > means that the median search had not found it after so many runs; — that none has.\n\n| bug |", m.Masters, m.Runs)
	for _, s := range m.Strategies {
		fmt.Fprintf(b, " %s |", s)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(m.Strategies)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |", row.Bug.ID)
		for _, f := range row.Figures {
			cell := f.runs()
			if f.Found == 0 {
				cell = "—"
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for i, s := range m.Strategies {
		var never []string
		for _, row := range rows {
			if row.Figures[i].Found == 0 {
				never = append(never, row.Bug.ID)
			}
		}
		if len(never) > 0 {
			fmt.Fprintf(b, "- In so many runs %s finds %d of %d; not %s.\n", s, len(rows)-len(never), len(rows), strings.Join(never, ", "))
		} else {
			fmt.Fprintf(b, "- %s finds all.\n", s)
		}
	}
	b.WriteString("\n")
}

func writeStories(b *strings.Builder, rows []Row) {
	b.WriteString("## The bugs\n")
	for _, row := range rows {
		fmt.Fprintf(b, "\n### %s: %s\n\n%s\n\n%s\n\nMust hold: `%s`. %s\n", row.Bug.ID, row.Bug.Title, row.Bug.Link, row.Bug.Why, row.Bug.FullProperty(), row.Bug.Meaning)
	}
}
