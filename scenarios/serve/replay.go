package serve

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/live"
)

// Replayed is a live run that was made again.
type Replayed struct {
	World   World
	End     *live.End
	Records []engine.Record // its trace, without the steps of the engine
}

// IsJournal reports whether a file is the journal of a live run.
func IsJournal(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = live.NewReader(file)
	return err == nil
}

// Replay makes the run of a journal again. The error wraps [live.ErrNotRepeated] if it
// came out otherwise than recorded; what came out is returned all the same. Any other
// error says that the journal cannot be used or why the run has failed.
func Replay(r *scenarios.Registry, journal io.Reader) (out *Replayed, err error) {
	reader, err := live.NewReader(journal)
	if err != nil {
		return nil, err
	}
	out = &Replayed{}
	if err := reader.World(&out.World); err != nil {
		return nil, err
	}
	world, err := out.World.Open(r, func(record engine.Record) {
		if record.Kind != "step" {
			out.Records = append(out.Records, record)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("build the cluster of the journal: %w", err)
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	out.End, err = reader.Replay(world.Cluster)
	if out.End == nil {
		return nil, err
	}
	return out, err
}
