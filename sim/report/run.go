package report

import (
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Run is one run and what came of it.
type Run struct {
	Title string `json:"title"` // of the scenario or the test
	Seed  uint64 `json:"seed"`
	Hash  string `json:"hash"`
	Steps uint64 `json:"steps"`

	// Property is the one that broke, or empty; Meaning says why it matters, Found
	// what was seen, at the virtual time At.
	Property string        `json:"property,omitempty"`
	Meaning  string        `json:"meaning,omitempty"`
	Found    string        `json:"found,omitempty"`
	At       time.Duration `json:"at,omitempty"`

	// Error says how the run failed if no property broke.
	Error string `json:"error,omitempty"`

	Elapsed time.Duration `json:"elapsed"` // virtual

	// Again is the command that repeats the run.
	Again string `json:"again,omitempty"`

	Records []engine.Record `json:"-"`
}

// Failed reports whether there is something to explain.
func (r *Run) Failed() bool { return r.Property != "" || r.Error != "" }
