package mutation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/mutation/switches"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// question asks a runner to try a mutant on some scenarios, by their numbers.
type question struct {
	Mutant int
	Files  []int
}

// answer is what came of it.
type answer struct {
	Mutant int
	Caught string // the property that was violated, or what else went wrong; empty: nothing
	File   string // the scenario that caught it
	Runs   int
}

// reach is which sites one scenario comes by while no mutant is on.
type reach struct {
	File  string
	Sites []int
}

// Serve is the runner's part: it says for each scenario of the target which sites it
// comes by, and then answers questions until there are no more. It is called in a
// program in which the mutants are planted.
func Serve(target *Target, runs int, in io.Reader, out io.Writer) error {
	registry, err := scenarios.New(target.Systems()...)
	if err != nil {
		return err
	}
	files, err := target.Files(registry)
	if err != nil {
		return err
	}
	t := &trial{registry, files, append([]string{""}, target.Faults...), runs}
	lines, questions := json.NewEncoder(out), json.NewDecoder(bufio.NewReader(in))
	for {
		var q question
		if err := questions.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if q.Mutant == switches.None {
			err = t.survey(lines)
		} else {
			err = lines.Encode(t.try(q))
		}
		if err != nil {
			return err
		}
	}
}

// trial is what mutants live through.
type trial struct {
	registry *scenarios.Registry
	files    []*scenarios.File
	faults   []string // empty for the scenario's own
	runs     int      // of each scenario with each
}

// survey tells of each scenario which sites it comes by. All have to hold.
func (t *trial) survey(lines *json.Encoder) error {
	for _, file := range t.files {
		switches.Forget()
		_, bad, err := t.explored(file)
		if err != nil {
			return err
		}
		if bad != nil {
			return errors.Join(fmt.Errorf("%s, seed %d, with no mutant: %s %s: %s", file.Path, bad.Seed, bad.Result, bad.Property, bad.Found), bad.Err)
		}
		if err := lines.Encode(reach{File: file.Path, Sites: switches.Reached()}); err != nil {
			return err
		}
	}
	return lines.Encode(reach{})
}

func (t *trial) try(q question) answer {
	switches.Turn(q.Mutant)
	defer switches.Turn(switches.None)
	a := answer{Mutant: q.Mutant}
	for _, i := range q.Files {
		n, bad, err := t.explored(t.files[i])
		a.Runs += n
		switch {
		case err != nil:
			a.Caught = err.Error()
		case bad != nil && bad.Result == scenarios.Violated:
			a.Caught = bad.Property
		case bad != nil:
			a.Caught = string(bad.Result)
		}
		if a.Caught != "" {
			a.File = t.files[i].Path
			break
		}
	}
	return a
}

// explored makes runs of one scenario, the same ones each time, in the ways of the default
// mix and with all faults. It returns the first that is not as it should be, if there is one.
func (t *trial) explored(file *scenarios.File) (made int, bad *scenarios.Outcome, err error) {
	for _, faults := range t.faults {
		n, bad, err := t.exploredWith(file, faults)
		if made += n; err != nil || bad != nil {
			return made, bad, err
		}
	}
	return made, nil, nil
}

func (t *trial) exploredWith(file *scenarios.File, faults string) (made int, bad *scenarios.Outcome, err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	e, err := t.registry.Explore(ctx, scenarios.Exploration{
		Files: []*scenarios.File{file}, Search: explore.Selection{Strategies: explore.Mix()}, Seeds: explore.Seeds{Count: uint64(t.runs)}, Workers: 1, Faults: faults,
		Progress: func(e *scenarios.Explored) {
			if e.Runs >= t.runs {
				stop()
			}
		},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("explore %s: %w", file.Path, err)
	}
	return e.Runs, e.Files[0].Bad, nil
}
