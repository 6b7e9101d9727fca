package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seedbed-sim/seedbed/sim/explore"
)

// ExploredPart is what came of one part of an exploration, in a form that can be sent.
type ExploredPart struct {
	Took    time.Duration      `json:"took"`
	LastNew time.Duration      `json:"lastNew"`
	Files   []ExploredPartFile `json:"files"`
}

// ExploredPartFile is an [ExploredFile] in such a form.
type ExploredPartFile struct {
	Name     string         `json:"name"`
	Survey   explore.Survey `json:"survey"`
	Runs     int            `json:"runs"`
	Searches map[string]int `json:"searches,omitempty"`
	Faults   map[string]int `json:"faults,omitempty"`
	Quiet    []string       `json:"quiet,omitempty"`
	Absent   []string       `json:"absent,omitempty"`
	Covered  string         `json:"covered,omitempty"`
	Shown    int            `json:"shown,omitempty"`
	Untold   int            `json:"untold,omitempty"`
	Late     *uint64        `json:"late,omitempty"` // the seed of the first of them
	Bad      *ExploredBad   `json:"bad,omitempty"`
	Map      []byte         `json:"map"`
}

// ExploredBad is the run that decides against a file.
type ExploredBad struct {
	Seed     uint64 `json:"seed"`
	Result   Result `json:"result"`
	Property string `json:"property,omitempty"`
	Found    string `json:"found,omitempty"`
	Search   string `json:"search"`
	Error    string `json:"error,omitempty"`
}

// Part returns e in a form that can be sent.
func (e *Explored) Part() (*ExploredPart, error) {
	part := &ExploredPart{Took: e.Took, LastNew: e.LastNew}
	for _, f := range e.Files {
		p := ExploredPartFile{
			Name: f.File.Metadata.Name, Survey: f.Survey, Runs: f.Runs, Searches: f.Searches, Faults: f.Faults, Quiet: f.Quiet,
			Absent: f.Absent, Covered: f.Covered, Shown: f.Shown, Untold: f.Untold,
		}
		if f.Late != nil {
			p.Late = &f.Late.Seed
		}
		if b := f.Bad; b != nil {
			p.Bad = &ExploredBad{Seed: b.Seed, Result: b.Result, Property: b.Property, Found: b.Found}
			if b.making != nil {
				p.Bad.Search = b.making.Search
			}
			if b.Err != nil {
				p.Bad.Error = b.Err.Error()
			}
		}
		var err error
		if p.Map, err = f.Map.MarshalBinary(); err != nil {
			return nil, fmt.Errorf("encode the coverage of %s: %w", p.Name, err)
		}
		part.Files = append(part.Files, p)
	}
	return part, nil
}

var errOtherFiles = errors.New("it is not of these scenarios")

// MergeExplored returns what parts of one exploration of files have shown together. It
// took as long as the longest of them; the run that decides against a file is the one
// with the lowest seed.
func MergeExplored(files []*File, parts []*ExploredPart) (*Explored, error) {
	e := &Explored{Faults: map[string]int{}}
	for _, file := range files {
		e.Files = append(e.Files, &ExploredFile{File: file, Searches: map[string]int{}, Map: explore.NewMap(), Faults: map[string]int{}})
	}
	for i, part := range parts {
		if len(part.Files) != len(files) {
			return nil, fmt.Errorf("part %d of the exploration: %w", i, errOtherFiles)
		}
		e.Took, e.LastNew = max(e.Took, part.Took), max(e.LastNew, part.LastNew)
		for j := range part.Files {
			if part.Files[j].Name != files[j].Metadata.Name {
				return nil, fmt.Errorf("part %d of the exploration: %w", i, errOtherFiles)
			}
			if err := e.Files[j].merge(&part.Files[j], i == 0); err != nil {
				return nil, fmt.Errorf("part %d of the exploration of %s: %w", i, part.Files[j].Name, err)
			}
		}
	}
	for _, f := range e.Files {
		e.Runs += f.Runs
		for kind, n := range f.Faults { // sums
			e.Faults[kind] += n
		}
	}
	return e, nil
}

func (f *ExploredFile) merge(p *ExploredPartFile, first bool) error {
	seen := explore.NewMap()
	if err := seen.UnmarshalBinary(p.Map); err != nil {
		return fmt.Errorf("read its coverage: %w", err)
	}
	f.Map.Merge(seen)
	f.Runs, f.Shown, f.Untold = f.Runs+p.Runs, f.Shown+p.Shown, f.Untold+p.Untold
	for name, n := range p.Searches { // sums
		f.Searches[name] += n
	}
	for kind, n := range p.Faults { // sums
		f.Faults[kind] += n
	}
	if first {
		f.Survey, f.Quiet, f.Absent = p.Survey, p.Quiet, p.Absent
	}
	f.Quiet, f.Absent = both(f.Quiet, p.Quiet), both(f.Absent, p.Absent)
	if p.Covered != "" && f.Covered != "" {
		f.Covered += "; "
	}
	f.Covered += p.Covered
	if p.Late != nil && (f.Late == nil || *p.Late < f.Late.Seed) {
		f.Late = &Outcome{File: f.File, Seed: *p.Late, Result: Violated, Property: StoryCompletes}
	}
	if b := p.Bad; b != nil && (f.Bad == nil || b.Seed < f.Bad.Seed) {
		f.Bad = &Outcome{File: f.File, Seed: b.Seed, Result: b.Result, Property: b.Property, Found: b.Found, making: &making{Making: Making{Search: b.Search}}}
		if b.Error != "" {
			f.Bad.Err = errors.New(b.Error)
		}
	}
	return nil
}

// both returns the names that are in a and in b, in the order of a.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}
