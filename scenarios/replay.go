package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Failure is a run that violated a property, made as small as the budget
// allowed, with its story.
type Failure struct {
	*Outcome                 // of the smallest run found
	Records  []engine.Record // its trace
	Original engine.Schedule // the history as it was found
	Small    engine.Schedule // the history as it was shrunk
	Tries    int             // runs made to shrink it
	Replay   string          // path of the replay file; empty if it could not be written
	Unsaved  error           // why it could not be written
	Picture  string          // path of the page that shows it; empty if there is none
	Undrawn  error           // why there is none
}

// ReplayFile is the content of a replay file: the scenario's text and the
// choices of one run, so that it alone repeats the run.
type ReplayFile struct {
	sim.Replay
	Property string    `json:"property,omitempty"`
	Making   *Making   `json:"making,omitempty"`
	Scenario SavedFile `json:"scenario"`
}

// SavedFile is a scenario file with all that it reads, in a form that can be kept or sent.
type SavedFile struct {
	Path string `json:"path"`
	Text string `json:"text"`

	// CRDs are the definitions that the scenario reads from files, by what it calls
	// the file or folder.
	CRDs map[string][]*apiextensions.CustomResourceDefinition `json:"crds,omitempty"`
}

// Save returns the file with all that it reads.
func (f *File) Save() SavedFile { return SavedFile{Path: f.Path, Text: string(f.Text), CRDs: f.crds} }

// Restore reads a saved file. The error is of type [Problems].
func (r *Registry) Restore(s SavedFile) (*File, error) {
	file, problems := r.parse(s.Path, []byte(s.Text), savedFiles{crds: s.CRDs})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return file, nil
}

// Investigate repeats a run that violated a property, shrinks its history within
// a budget and writes a replay file into a folder, which is made if need be. The
// error says that the run could not be repeated: the engine or the system is not
// deterministic.
func (r *Registry) Investigate(o *Outcome, budget sim.Budget, folder string) (*Failure, error) {
	var w *World
	options := r.options(o.File, o.Seed)
	options.Shrink, options.Artifacts = budget, folder
	options.Again = func(replay string) string { return "seedbed replay " + replay }
	found, err := investigate(&options, o, r.build(o.File, &w))
	if err != nil {
		return nil, err
	}
	f := &Failure{
		Outcome: r.outcome(o.File, found.Small, w), Records: found.Small.Records,
		Original: found.First.Schedule, Small: found.Small.Schedule, Tries: found.Tries,
		Unsaved: found.Unsaved, Picture: found.Picture, Undrawn: found.Undrawn,
	}
	f.Seed, f.making = o.Seed, o.making
	if found.Replay != "" {
		f.Replay, f.Unsaved = addScenario(found.Replay, f.Outcome)
	}
	return f, nil
}

// investigate repeats and shrinks the run of an outcome.
func investigate(options *sim.Options, o *Outcome, build sim.Build) (*sim.Failure, error) {
	if o.making != nil {
		m := *o.making
		m.observe = nil
		m.apply(options)
		return sim.InvestigateWith(*options, o.Seed, m.source(), build)
	}
	report, err := sim.Run(*options, build)
	switch {
	case err != nil:
		return nil, err
	case report.Failure == nil:
		return nil, fmt.Errorf("%s: seed %d was violated once and held when it was repeated: %w", o.File.Metadata.Name, o.Seed,
			&sim.NondeterminismError{Seed: o.Seed, First: o.Hash, Second: report.Results[0].Hash, Steps: o.Steps})
	}
	return report.Failure, nil
}

// addScenario puts the scenario's text into a replay file, so that the file
// alone is enough.
func addScenario(path string, o *Outcome) (string, error) {
	replay, err := sim.LoadReplay(path)
	if err != nil {
		return "", err
	}
	file := ReplayFile{Replay: *replay, Property: o.Property, Scenario: o.File.Save()}
	if o.making != nil {
		file.Making = &o.making.Making
	}
	text, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return "", fmt.Errorf("write replay: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("write replay: %w", err)
	}
	if relative, err := filepath.Rel(".", path); err == nil && filepath.IsLocal(relative) {
		return relative, nil
	}
	return path, nil
}

// ErrNotRepeated says that a replay gave another run than the one recorded: the
// program or the scenario is not the same.
var ErrNotRepeated = errors.New("the run did not repeat as recorded")

// Replay repeats the run of a replay file. Besides the outcome and the trace it
// returns an error that wraps [ErrNotRepeated] if the run came out differently.
// Any other error says that the file cannot be used.
func (r *Registry) Replay(path string) (*Failure, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	var replay ReplayFile
	if err := json.Unmarshal(text, &replay); err != nil {
		return nil, fmt.Errorf("%s is not a replay file: %w", path, err)
	}
	switch {
	case replay.Scenario.Text == "":
		return nil, fmt.Errorf("%s is not a replay file of a scenario: it holds no scenario", path)
	case replay.Version != sim.ReplayVersion:
		return nil, fmt.Errorf("%s has version %d of the replay format; this program reads version %d", path, replay.Version, sim.ReplayVersion)
	}
	file, err := r.Restore(replay.Scenario)
	if err != nil {
		return nil, fmt.Errorf("the scenario inside %s is not valid:\n%w", path, err)
	}
	var w *World
	options := r.options(file, replay.Seed)
	if replay.Making != nil {
		m := &making{Making: *replay.Making}
		if m.Faults != "" {
			if m.faults, err = r.Override(m.Faults); err != nil {
				return nil, fmt.Errorf("the faults of the run in %s: %w", path, err)
			}
		}
		m.apply(&options)
	}
	got, mismatch := sim.RunReplay(options, &replay.Replay, r.build(file, &w))
	f := &Failure{Outcome: r.outcome(file, got, w), Records: got.Records, Small: replay.Schedule, Replay: path}
	f.Seed = replay.Seed
	if mismatch != nil {
		return f, fmt.Errorf("%w: %w", ErrNotRepeated, mismatch)
	}
	return f, nil
}
