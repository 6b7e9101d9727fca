package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// ReplayVersion is the version of the replay file format.
const ReplayVersion = 1

// replayEnding ends the names of replay files.
const replayEnding = ".replay.json"

// Replay is a run that can be made again: what a bug report carries.
type Replay struct {
	Version  int             `json:"version"`
	Name     string          `json:"name"` // of the test or scenario
	Seed     uint64          `json:"seed"` // it was found at
	Error    string          `json:"error"`
	Hash     string          `json:"hash"` // of the run that the schedule gives
	Steps    uint64          `json:"steps"`
	Go       string          `json:"go"`
	Schedule engine.Schedule `json:"schedule"`
}

// newReplay describes a recorded run.
func newReplay(name string, r *Result) *Replay {
	return &Replay{
		Version: ReplayVersion, Name: name, Seed: r.Seed, Error: r.Err.Error(),
		Hash: hashText(r.Hash), Steps: r.Steps, Go: runtime.Version(), Schedule: r.Schedule,
	}
}

func hashText(h uint64) string { return fmt.Sprintf("%016x", h) }

// LoadReplay reads a replay file.
func LoadReplay(path string) (*Replay, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	var r Replay
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	if r.Version != ReplayVersion {
		return nil, fmt.Errorf("replay %s: version %d, this program reads version %d", path, r.Version, ReplayVersion)
	}
	return &r, nil
}

// Save writes the replay into dir, which is made if need be, and returns the
// path. The name tells test and seed; an older file of that name is replaced.
func (r *Replay) Save(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("replay: %w", err)
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return "", fmt.Errorf("replay: %w", err)
	}
	path := filepath.Join(dir, fileName(r.Name)+"-seed"+fmt.Sprint(r.Seed)+replayEnding)
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("replay: %w", err)
	}
	return path, nil
}

// fileName keeps letters, digits and a few signs of name.
func fileName(name string) string {
	keep := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}
	if name == "" {
		return "run"
	}
	return strings.Map(keep, name)
}

// RunReplay makes the recorded run again, with its trace. An error says that it
// did not come out as recorded.
func RunReplay(o Options, r *Replay, build Build) (*Result, error) {
	o = o.withDefaults()
	if o.Name == "" {
		o.Name = r.Name
	}
	got := once(&o, build, how{
		source: engine.NewReplay(r.Schedule), seed: r.Seed, record: true, trace: engine.TraceNotes,
	})
	if h := hashText(got.Hash); h != r.Hash {
		return got, fmt.Errorf("replay of %s: hash %s instead of %s: the program is not the one that was recorded", r.Name, h, r.Hash)
	}
	return got, nil
}
