package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/fidelity"
)

// randomFlags are the flags of seedbed fidelity random.
type randomFlags struct {
	server    serverFlags
	sequences int
	calls     int
	seed      uint32
	workers   int
	resources []string
	shrink    time.Duration
	cases     string
}

func (a *app) randomCommand() *cobra.Command {
	var f randomFlags
	cmd := &cobra.Command{
		Use:   "random",
		Short: "Make random calls on the fake and a real API server, and compare the answers",
		Long: `Make sequences of random calls, with watches open, on a fake and on a real API
server in lock-step, and compare every answer and every event. A sequence ends at
the first difference; that is made small and written as a case file, which
seedbed fidelity cases runs.

The real server is that at --url, or one that is started.

Exit codes: 0 all calls agreed, or differed in a known way; 1 some did not; 2 bad
input; 3 the real server could not be asked.`,
		Example: `  seedbed fidelity random --sequences 2000
  seedbed fidelity random --seed 7 --sequences 1 --resources v1/pods`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("seed") {
				f.seed = rand.Uint32N(1e9)
			}
			if err := f.check(); err != nil {
				return err
			}
			return a.random(cmd.Context(), &f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.sequences, "sequences", 100, "number of sequences, 1 or more")
	flags.IntVar(&f.calls, "calls", 30, "length of each sequence, in calls")
	flags.Uint32Var(&f.seed, "seed", 0, "seed of the first sequence, a whole number (default: a fresh one, which is printed)")
	flags.IntVar(&f.workers, "workers", 6, "number of sequences side by side, 1 or more")
	flags.StringSliceVar(&f.resources, "resources", nil, "only calls about these, such as v1/pods,apps/v1/deployments (default: all that can be)")
	flags.DurationVar(&f.shrink, "shrink", 30*time.Second, "time for making each difference small, such as 10s; 0s leaves it as found")
	flags.StringVar(&f.cases, "cases", "seedbed-fidelity", "folder for the case files of differences")
	f.server.register(flags)
	return cmd
}

func (f *randomFlags) check() error {
	switch {
	case f.sequences < 1:
		return badInput("--sequences %d: write how many sequences to make, 1 or more", f.sequences)
	case f.calls < 1:
		return badInput("--calls %d: write how many calls a sequence has, 1 or more", f.calls)
	case f.workers < 1:
		return badInput("--workers %d: write how many sequences go side by side, 1 or more", f.workers)
	case f.server.full:
		return badInput("--full: random calls need a server without kube-controller-manager, which would make calls of its own")
	}
	known := fidelity.Resources()
	for _, r := range f.resources {
		if !slices.Contains(known, r) {
			return badInput("--resources %s: no calls about that are known; there are %v", r, known)
		}
	}
	return f.server.check()
}

func (a *app) random(ctx context.Context, f *randomFlags) error {
	reality := f.server.open()
	// Thousands of sequences have more services at a time than a /24 has addresses.
	reality.options = []string{"--service-cluster-ip-range=10.0.0.0/16"}
	defer func() {
		if err := reality.close(); err != nil {
			fmt.Fprintf(a.err, "seedbed: %v\n", err)
		}
	}()
	stage := &conformance.Case{}
	if _, err := reality.target(ctx, stage); err != nil { // starts it, before several ask
		return &exit{exitEngine, err.Error()}
	}
	fmt.Fprintf(a.out, "seed %d\n", f.seed)
	var trouble error
	outcome, err := fidelity.Explore(ctx, fidelity.Plan{
		Sequences: f.sequences, Calls: f.calls, Seed: int(f.seed), Workers: f.workers, Resources: f.resources, ShrinkTime: f.shrink,
		Reality: func() (conformance.Target, error) { return reality.target(ctx, stage) },
		Fake:    func() (conformance.Target, error) { return fidelity.NewFake(), nil },
		Found: func(seed int, d *fidelity.Divergence) {
			file, err := f.write(seed, d)
			if err != nil && trouble == nil {
				trouble = err
			}
			fmt.Fprintf(a.out, "seed %d: %s\n    %s\n", seed, d, file)
		},
	})
	if outcome != nil {
		fmt.Fprintln(a.out, outcome.Summary())
		for _, reason := range outcome.Stale {
			fmt.Fprintf(a.out, "not met: the known difference that %s\n", reason)
		}
	}
	switch {
	case err != nil:
		return &exit{exitEngine, err.Error()}
	case trouble != nil:
		return badInput("write a case file: %v", trouble)
	case len(outcome.Diverged) > 0:
		return &exit{code: exitViolated}
	}
	return nil
}

// write keeps a divergence as a case file.
func (f *randomFlags) write(seed int, d *fidelity.Divergence) (string, error) {
	return writeCase(f.cases, fidelity.CaseOf(seed, d))
}

// writeCase writes a case into a folder, which is made if it is not there.
func writeCase(folder string, c *conformance.Case) (string, error) {
	text, err := conformance.Format(c)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(folder, c.Name+".yaml")
	return file, os.WriteFile(file, text, 0o644)
}
