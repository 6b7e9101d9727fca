// Command measure looks for every bug of the proving ground in every way, and writes
// what came of it into the package's README; make provingground calls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/provingground"
)

// mark is behind what people have written in the README.
const mark = "<!-- What follows is written by make provingground. -->\n"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run() error {
	m := provingground.Measurement{Log: os.Stdout, CPU: spent}
	strategies := flag.String("strategies", "mix,uniform,sticky,pos,pct,pos-conflicts,pct-conflicts,swarm,guided,crash,stale,missed,travel,overtaken", "ways of searching, the mix first")
	only := flag.String("bugs", "", "the bugs to look for; all if empty, and only then something is written")
	flag.IntVar(&m.Masters, "masters", 10, "searches of each bug in each way")
	flag.IntVar(&m.Runs, "runs", 160, "runs of a search, but for those of the first strategy")
	flag.DurationVar(&m.Patience, "patience", time.Minute, "the longest search of the first strategy")
	flag.IntVar(&m.Twins, "twins", 1000, "histories in which each repaired twin has to hold")
	flag.DurationVar(&m.Shrink, "shrink", 2*time.Second, "time for making a history of each bug small")
	flag.StringVar(&m.Commit, "commit", "unknown", "what is measured")
	readme := flag.String("write", "", "the file in which the tables are")
	flag.Parse()
	m.Strategies = strings.Split(*strategies, ",")
	m.Bugs = provingground.Bugs()
	if *only != "" {
		m.Bugs = slices.DeleteFunc(m.Bugs, func(b provingground.Bug) bool { return !slices.Contains(strings.Split(*only, ","), b.ID) })
	}
	r, err := scenarios.New(provingground.Systems()...)
	if err != nil {
		return err
	}
	rows, err := provingground.Measure(r, m)
	if err != nil {
		return err
	}
	if *readme != "" && *only == "" {
		if err := write(*readme, &m, rows); err != nil {
			return err
		}
	}
	return verdict(rows)
}

// spent is the processor time of the program.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("getrusage of the program itself: %v", err)) // it takes no input
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// verdict says that a bug was not found at all, or that a twin gave a false alarm.
func verdict(rows []provingground.Row) error {
	var errs []error
	for _, row := range rows {
		if row.Figures[0].Found == 0 {
			errs = append(errs, fmt.Errorf("%s is not found", row.Bug.ID))
		}
		if row.Alarm != nil {
			errs = append(errs, fmt.Errorf("the twin of %s: %w", row.Bug.ID, row.Alarm))
		}
	}
	return errors.Join(errs...)
}

// write replaces the tables in a file.
func write(path string, m *provingground.Measurement, rows []provingground.Row) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, _, found := strings.Cut(string(text), mark)
	if !found {
		return fmt.Errorf("%s has no line %q", path, mark)
	}
	var b strings.Builder
	b.WriteString(head + mark + "\n")
	if err := m.Write(&b, rows); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
