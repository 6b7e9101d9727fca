package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// Format is the first thing that a journal says of itself.
const Format = "seedbed.dev/live-journal/v1"

// Journal keeps what comes from outside during a live run: a line of JSON that says
// what world the run began with, one for each input, and one at the end. It holds all
// that clients have sent, secrets included.
type Journal struct {
	out *bufio.Writer
}

// opening is the first line.
type opening struct {
	Format string          `json:"format"`
	World  json.RawMessage `json:"world"`
}

// closing is the last line.
type closing struct {
	End *End `json:"end"`
}

// End is how a run stood when it ended.
type End struct {
	At    time.Duration `json:"at"` // virtual
	Steps uint64        `json:"steps"`
	Hash  string        `json:"hash"`
}

// NewJournal begins a journal. World is what whoever replays it must build the
// cluster from; it is encoded as JSON.
func NewJournal(out io.Writer, world any) (*Journal, error) {
	text, err := json.Marshal(world)
	if err != nil {
		return nil, fmt.Errorf("begin a journal: %w", err)
	}
	j := &Journal{bufio.NewWriter(out)}
	if err := j.write(opening{Format, text}); err != nil {
		return nil, fmt.Errorf("begin a journal: %w", err)
	}
	return j, nil
}

// write adds a line. What is written is on its way at once: a run may end by force.
func (j *Journal) write(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, _ = j.out.Write(append(text, '\n')) // Flush has the error
	return j.out.Flush()
}

func endOf(c *cluster.Cluster) *End {
	e := c.Engine()
	return &End{At: e.Elapsed(), Steps: e.Steps(), Hash: fmt.Sprintf("%016x", e.Hash())}
}

// ErrNotRepeated says that a replay came out in another way than the run that its
// journal was kept of: the program is not the same.
var ErrNotRepeated = errors.New("the run did not repeat as recorded")

// Reader reads a journal.
type Reader struct {
	lines *bufio.Reader
	world json.RawMessage
	n     int
}

// NewReader begins to read a journal.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{lines: bufio.NewReader(in)}
	line, err := r.line()
	if err != nil {
		return nil, fmt.Errorf("read a journal: %w", err)
	}
	var first opening
	if err := json.Unmarshal(line, &first); err != nil || first.Format != Format {
		return nil, fmt.Errorf("not a journal of a live run: the first line does not say %q", Format)
	}
	r.world = first.World
	return r, nil
}

// World decodes what the cluster is to be built from.
func (r *Reader) World(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(r.world))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("the world of the journal: %w", err)
	}
	return nil
}

func (r *Reader) line() ([]byte, error) {
	r.n++
	line, err := r.lines.ReadBytes('\n')
	if err == io.EOF && len(line) > 0 {
		return nil, io.EOF // cut off by a run that ended by force
	}
	return line, err
}

// Replay makes the run of a journal on a fresh cluster, built as the journal's world
// says. It returns how the run ended. The error wraps [ErrNotRepeated] if it came out
// otherwise; a journal without an end, of a run that was killed, says nothing to
// compare with.
func (r *Reader) Replay(c *cluster.Cluster) (*End, error) {
	for {
		line, err := r.line()
		if errors.Is(err, io.EOF) {
			return endOf(c), c.Engine().Err()
		}
		if err != nil {
			return nil, fmt.Errorf("read a journal: %w", err)
		}
		in, end, err := decodeLine(line, c.Store().Scheme())
		if err != nil {
			return nil, fmt.Errorf("line %d of the journal: %w", r.n, err)
		}
		if end != nil {
			return r.compare(c, end)
		}
		runTo(c, in.At)
		in.apply(c)
		if in.watch != nil {
			in.watch.Stop() // whether it is read is not part of the run
		}
	}
}

// runTo goes on when the story of a scenario stops the run.
func runTo(c *cluster.Cluster, at time.Duration) {
	for e := c.Engine(); e.Err() == nil; {
		if e.RunTo(at); e.Elapsed() >= at {
			return
		}
	}
}

func (r *Reader) compare(c *cluster.Cluster, want *End) (*End, error) {
	runTo(c, want.At)
	got := endOf(c)
	if *got != *want {
		return got, fmt.Errorf("%w: hash %s after %d steps and %v, recorded were %s, %d and %v",
			ErrNotRepeated, got.Hash, got.Steps, got.At, want.Hash, want.Steps, want.At)
	}
	return got, nil
}

// decodeLine reads an input or the end.
func decodeLine(line []byte, scheme *runtime.Scheme) (*Input, *End, error) {
	var raw struct {
		Input
		Request json.RawMessage `json:"request"`
		End     *End            `json:"end"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, nil, err
	}
	if raw.End != nil {
		return nil, raw.End, nil
	}
	in := raw.Input
	if raw.Request != nil {
		in.Request = &Request{}
		if err := in.Request.restore(raw.Request, scheme); err != nil {
			return nil, nil, err
		}
	}
	return &in, nil, nil
}
