package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// withoutReplays takes the replay files from what the arguments name, and the folders
// that hold nothing else.
func withoutReplays(args []string) (paths, replays []string, err error) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil { // a built-in scenario, perhaps
			paths = append(paths, arg)
			continue
		}
		found, err := scenarios.FindReplays([]string{arg}, defaultReplays)
		if err != nil {
			return nil, nil, badInput("%v", err)
		}
		for _, replay := range found {
			if !slices.Contains(replays, replay) {
				replays = append(replays, replay)
			}
		}
		if len(found) == 0 || info.IsDir() && scenarios.HoldsScenarios(arg) {
			paths = append(paths, arg)
		}
	}
	return paths, replays, nil
}

// regressOnly is a run of replay files without any scenario.
func (s *session) regressOnly(ctx context.Context) error {
	switch code := s.regress(ctx); {
	case s.writeErr != nil:
		return badInput("write the output: %v", s.writeErr)
	case code != exitOK:
		return &exit{code: code}
	}
	return nil
}

// regress repeats the histories that were kept, and returns the exit code.
func (s *session) regress(ctx context.Context) int {
	code := exitOK
	for i, path := range s.replays {
		if ctx.Err() != nil {
			return exitInterrupted
		}
		if i == 0 && s.flags.output == "text" {
			s.print(scenarios.Count(len(s.replays), "replay file") + ", kept as regressions\n")
		}
		g := s.registry.Regress(path)
		if s.flags.output == "text" || !g.OK() {
			s.printRegression(g)
		}
		switch {
		case g.OK():
		case g.Failure == nil || g.Failure.Result == scenarios.BadInput:
			code = max(code, exitBadInput)
		case g.Err != nil:
			code = max(code, exitEngine)
		default:
			code = max(code, exitViolated)
		}
	}
	return code
}

// printRegression prints the line of one replay file: beside the output for machines, if that
// is wanted.
func (s *session) printRegression(g *scenarios.Regression) {
	if s.flags.output == "json" {
		fmt.Fprint(s.err, s.style.Regression(g))
		return
	}
	s.print(s.style.Regression(g))
}
