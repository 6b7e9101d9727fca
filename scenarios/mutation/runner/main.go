// Command runner tries mutants on the scenarios of a target; package mutation builds it with
// the mutants planted in it, and asks it.
//
//	runner TARGET RUNS
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/seedbed-sim/seedbed/scenarios/mutation"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("it takes a target and a number of runs, not %q", args)
	}
	target, err := mutation.TargetOf(args[0])
	if err != nil {
		return err
	}
	runs, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("number of runs: %w", err)
	}
	return mutation.Serve(target, runs, os.Stdin, os.Stdout)
}
