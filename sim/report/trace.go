package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// line is one line of a trace file: a record, or the run, which stands last.
type line struct {
	Step   uint64   `json:"step"`
	At     float64  `json:"at"` // virtual seconds
	Kind   string   `json:"kind"`
	Actor  string   `json:"actor,omitempty"`
	Verb   string   `json:"verb,omitempty"`
	Object string   `json:"object,omitempty"`
	N      uint64   `json:"n,omitempty"`
	Detail string   `json:"detail,omitempty"`
	Since  *float64 `json:"since,omitempty"` // virtual seconds
	Peer   string   `json:"peer,omitempty"`
	State  state    `json:"state,omitempty"`
	Run    *Run     `json:"run,omitempty"`
}

// state is the JSON of an object inside the JSON of a line.
type state string

// MarshalJSON keeps the object as it is.
func (s state) MarshalJSON() ([]byte, error) { return []byte(s), nil }

// UnmarshalJSON keeps the object as it is.
func (s *state) UnmarshalJSON(raw []byte) error {
	*s = state(raw)
	return nil
}

// runKind is the kind of the line that holds the run.
const runKind = "run"

// WriteRecords writes records as lines of JSON, without the run they belong to.
func WriteRecords(out io.Writer, records []engine.Record) error {
	encoder := json.NewEncoder(out)
	for _, r := range records {
		l := line{
			Step: r.Step, At: r.At.Seconds(), Kind: r.Kind, Actor: r.Actor, Verb: r.Verb, Object: r.Object, N: r.N,
			Detail: r.Detail, Peer: r.Peer, State: state(r.State),
		}
		if r.Peer != "" {
			since := r.Since.Seconds()
			l.Since = &since
		}
		if err := encoder.Encode(l); err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
	}
	return nil
}

// WriteTrace writes a run as lines of JSON: its records and, last, what came of it.
func WriteTrace(out io.Writer, run *Run) error {
	if err := WriteRecords(out, run.Records); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(line{Step: run.Steps, At: run.Elapsed.Seconds(), Kind: runKind, Run: run}); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// ErrNoTrace says that something is not a trace at all.
var ErrNoTrace = errors.New("not a trace")

// ReadTrace reads what WriteTrace has written. A trace without its last line, of a
// run that was cut short, is read as far as it goes.
func ReadTrace(in io.Reader) (*Run, error) {
	run := &Run{}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 64<<10), 64<<20)
	var records []engine.Record
	for n := 1; scanner.Scan(); n++ {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", n, ErrNoTrace, err)
		}
		switch {
		case l.Kind == "":
			return nil, fmt.Errorf("line %d: %w: it has no kind", n, ErrNoTrace)
		case l.Run != nil:
			run = l.Run
			continue
		}
		r := engine.Record{
			Step: l.Step, At: seconds(l.At), Kind: l.Kind, Actor: l.Actor, Verb: l.Verb, Object: l.Object, N: l.N,
			Detail: l.Detail, Peer: l.Peer, State: string(l.State),
		}
		if l.Since != nil {
			r.Since = seconds(*l.Since)
		}
		records = append(records, r)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%w: it has no events", ErrNoTrace)
	}
	run.Records = records
	if last := records[len(records)-1]; run.Steps == 0 {
		run.Steps, run.Elapsed = last.Step, last.At
	}
	return run, nil
}

// seconds is exact to the nanosecond for runs of up to a hundred days.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
