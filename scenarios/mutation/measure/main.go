// Command measure hunts the mutants of packages and says how many are caught; make mutants
// calls it. It fails if one survives that the package's list of survivors does not explain.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios/mutation"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run() error {
	only := flag.String("targets", "", "the targets to measure, with commas between; all if empty")
	match := flag.String("match", "", "only mutants whose name has this in it")
	list := flag.Bool("list", false, "list the mutants and try none")
	folder := flag.String("folder", "", "where the programs are built; a temporary folder if empty")
	h := mutation.Hunt{Root: ".", Log: os.Stdout}
	flag.IntVar(&h.Runs, "runs", 0, "runs of each scenario for each mutant; as each target says if 0")
	flag.IntVar(&h.Scenarios, "scenarios", 3, "scenarios that a mutant has to live through")
	flag.IntVar(&h.Workers, "workers", runtime.NumCPU(), "programs side by side")
	flag.DurationVar(&h.Patience, "patience", 2*time.Minute, "how long one mutant may take")
	flag.Parse()
	if *match != "" {
		h.Some = func(s *mutation.Site) bool { return strings.Contains(s.ID(), *match) }
	}
	var errs []error
	for _, t := range mutation.Targets() {
		if *only != "" && !strings.Contains(","+*only+",", ","+t.Name+",") {
			continue
		}
		if *list {
			errs = append(errs, listSites(&t))
			continue
		}
		errs = append(errs, measure(&t, h, *folder))
	}
	return errors.Join(errs...)
}

func listSites(t *mutation.Target) error {
	sites, err := t.Sites(".")
	for _, s := range sites {
		fmt.Println(s.ID())
	}
	return err
}

func measure(t *mutation.Target, h mutation.Hunt, folder string) (err error) {
	survivors, err := t.ReadSurvivors(h.Root)
	if err != nil {
		return err
	}
	if folder == "" {
		if folder, err = os.MkdirTemp("", "mutants"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	h.Folder = filepath.Join(folder, t.Name)
	if err := os.MkdirAll(h.Folder, 0o755); err != nil {
		return err
	}
	mutants, err := t.Score(h)
	if err != nil {
		return err
	}
	if err := mutation.WriteTable(os.Stdout, t.Name, mutants, survivors); err != nil {
		return err
	}
	return mutation.Explained(survivors, mutants)
}
