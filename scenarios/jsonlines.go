package scenarios

import (
	"encoding/json"
	"fmt"
	"io"
)

// Line is one run as a line of JSON.
type Line struct {
	Scenario  string  `json:"scenario"`
	File      string  `json:"file"`
	Seed      uint64  `json:"seed"`
	Result    Result  `json:"result"`
	Expected  bool    `json:"expected"` // the result is what the scenario is written to show, or does not speak against it
	Property  string  `json:"property,omitempty"`
	Found     string  `json:"found,omitempty"`
	Error     string  `json:"error,omitempty"`
	Hash      string  `json:"hash"`
	Steps     uint64  `json:"steps"`
	Simulated float64 `json:"simulatedSeconds"`
}

// Line returns the outcome in the form for machines.
func (o *Outcome) Line() Line {
	line := Line{
		Scenario: o.File.Metadata.Name, File: o.File.Path, Seed: o.Seed, Result: o.Result,
		Expected: o.Result == Held || o.Expected(),
		Property: o.Property, Found: o.Found, Hash: fmt.Sprintf("%016x", o.Hash), Steps: o.Steps,
		Simulated: o.Simulated.Seconds(),
	}
	if o.Err != nil {
		line.Error = o.Err.Error()
	}
	return line
}

// WriteJSON writes one line of JSON.
func (o *Outcome) WriteJSON(out io.Writer) error {
	return json.NewEncoder(out).Encode(o.Line())
}
