package mutation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Survivor is a line of a list of survivors.
type Survivor struct {
	ID     string
	Reason string
}

// arrow stands between a survivor and the reason.
const arrow = " => "

// Reasons are how the reason of a survivor begins, and what that means.
var Reasons = []struct{ Word, Meaning string }{
	{"equivalent", "no history tells it from the code as it is"},
	{"slower", "what must come about still does, later or with more requests"},
	{"unrepaired", "only the reconciler with the bug comes by, and it is not what is measured"},
	{"surroundings", "it breaks what stands in for the rest of the cluster"},
	{"rare", "it is a bug that a property judges, and none of the histories tried shows it"},
	{"no oracle", "it is a bug, and nothing judges it"},
}

// ReadSurvivors reads the list of a target. Lines that begin with # are comments.
func (t *Target) ReadSurvivors(root string) ([]Survivor, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(t.Survivors)))
	if err != nil {
		return nil, fmt.Errorf("survivors of %s: %w", t.Name, err)
	}
	var all []Survivor
	var errs []error
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, ok := strings.Cut(line, arrow)
		word, why, _ := strings.Cut(reason, ": ")
		known := slices.ContainsFunc(Reasons, func(r struct{ Word, Meaning string }) bool { return r.Word == word })
		if !ok || !known || why == "" {
			errs = append(errs, fmt.Errorf("%s:%d: write MUTANT%sREASON: WHY, with one of the reasons of mutation.Reasons, not %q", t.Survivors, i+1, arrow, line))
			continue
		}
		all = append(all, Survivor{id, reason})
	}
	return all, errors.Join(errs...)
}

// Explained holds the list of a target against what was found: each survivor needs a
// reason, and what is listed has to survive. Mutants that were not tried are not asked for.
func Explained(survivors []Survivor, mutants []Mutant) error {
	listed := map[string]bool{}
	for _, s := range survivors {
		listed[s.ID] = true
	}
	var errs []error
	for _, m := range mutants {
		switch id := m.ID(); {
		case m.Caught == "" && !listed[id]:
			errs = append(errs, fmt.Errorf("not caught, and not explained: %s", id))
		case m.Caught != "" && listed[id]:
			errs = append(errs, fmt.Errorf("listed as a survivor, and caught by %s: %s", m.Caught, id))
		}
	}
	return errors.Join(errs...)
}

// Known reports which survivors are no site of the target, or are listed twice.
func Known(survivors []Survivor, sites []Site) error {
	ids := map[string]bool{}
	for _, s := range sites {
		ids[s.ID()] = true
	}
	var errs []error
	for _, s := range survivors {
		if !ids[s.ID] {
			errs = append(errs, fmt.Errorf("a survivor that is no mutant, or is listed twice: %s", s.ID))
		}
		delete(ids, s.ID)
	}
	return errors.Join(errs...)
}
