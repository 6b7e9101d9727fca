// Command runner runs one scenario file of the library on one seed after the
// other and prints each run as a line of JSON, until a run is not as its file
// expects it:
//
//	runner FILE SEEDS [FOLDER]
//
// If that violates a property, the run is shrunk, and its replay file and its picture
// are written into the folder, if there is one.
//
// It is built with bugs planted in it by package mutant. Exit codes: 0 every run
// was as expected, 1 one was not, 2 bad input.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/library"
	"github.com/seedbed-sim/seedbed/sim"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		code = 2
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	if len(args) != 2 && len(args) != 3 {
		return 0, fmt.Errorf("it takes a scenario file, a number of seeds and perhaps a folder, not %q", args)
	}
	seeds, err := strconv.ParseUint(args[1], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("number of seeds: %w", err)
	}
	registry := scenarios.MustNew(library.Systems()...)
	files, err := registry.Read(args[0])
	if err != nil {
		return 0, err
	}
	for seed := range seeds {
		o := registry.RunSeed(files[0], seed)
		if err := o.WriteJSON(os.Stdout); err != nil {
			return 0, err
		}
		if o.Line().Expected {
			continue
		}
		if len(args) == 3 && o.Result == scenarios.Violated {
			f, err := registry.Investigate(o, sim.Budget{Runs: 200, Time: 5 * time.Second}, args[2])
			if err := errors.Join(err, f.Unsaved, f.Undrawn); err != nil {
				return 0, fmt.Errorf("draw seed %d: %w", seed, err)
			}
		}
		return 1, nil
	}
	return 0, nil
}
