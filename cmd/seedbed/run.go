package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
)

// defaultReplays is the folder for the replay files of failing runs.
const defaultReplays = "seedbed-replays"

// runFlags are the flags of seedbed run.
type runFlags struct {
	seed, first uint64
	seeds       int
	workers     int
	junit       string
	trace       string
	story       bool
	output      string
	verify      bool
	onlyHashes  bool // for another process that verifies
	shrink      time.Duration
	replays     string
	verbose     bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [PATH|NAME]…",
		Short: "Run scenarios on many seeds; without a path, the built-in ones",
		Long: `Run scenario files, or all *.yaml files below a folder, each on many seeds.
A built-in scenario is named as seedbed list scenarios shows it. Without a path
or name the whole built-in library is run.

Replay files (*.replay.json) that are named or lie below a folder are repeated:
seedbed explore --save-to keeps them as regressions, and they must hold.

Exit codes: 0 every scenario showed what it is written to show; 1 a property
failed, or an expected violation was not seen; 2 bad input; 3 the engine itself
failed; 130 interrupted.`,
		Example: `  seedbed run
  seedbed run safe-rotation --seeds 200
  seedbed run scenarios/ --seeds 200 --workers 8
  seedbed run my.yaml --seed 7 --story
  seedbed run my.yaml -o json --junit report.xml`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.run(cmd.Context(), &f, cmd.Flags().Changed("seed"), paths)
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "run only this seed, a whole number from 0")
	flags.IntVar(&f.seeds, "seeds", 0, "number of seeds to run of each scenario, 1 or more (default: what each scenario says)")
	flags.Uint64Var(&f.first, "first-seed", 0, "the first seed to run, a whole number from 0")
	flags.IntVar(&f.workers, "workers", 0, "number of runs side by side, 1 or more (default: one per processor); results do not depend on it")
	flags.StringVar(&f.junit, "junit", "", "write a JUnit report to this file")
	flags.StringVar(&f.trace, "trace", "", "write the trace of the run to this file, one line of JSON per event; needs one scenario and --seed")
	flags.BoolVar(&f.story, "story", false, "tell the story of the run in plain words; needs one scenario and --seed")
	flags.StringVarP(&f.output, "output", "o", "text", "form of the output: text, or json for one line per run")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "name the properties and conditions that were checked, instead of counting them")
	flags.BoolVar(&f.verify, "verify", false, "run each seed twice here and once in another process, and compare the hashes; exit code 3 if they differ")
	flags.DurationVar(&f.shrink, "shrink", 10*time.Second, "time for making each failing history small, such as 10s; 0s leaves it as found")
	flags.StringVar(&f.replays, "replays", defaultReplays, "folder for the replay files of failing runs")
	flags.BoolVar(&f.onlyHashes, "only-hashes", false, "explain nothing")
	flags.Lookup("only-hashes").Hidden = true
	a.completeRun(cmd)
	return cmd
}

func (a *app) completeRun(cmd *cobra.Command) {
	// The names are those registered above: errors cannot happen.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// check refuses flags that make no sense, alone or together.
func (f *runFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case changed("seed") && changed("seeds"):
		return badInput("--seed runs one seed and --seeds many; write one of them")
	case changed("seed") && changed("first-seed"):
		return badInput("--seed runs one seed; write --first-seed with --seeds")
	case changed("seeds") && f.seeds < 1:
		return badInput("--seeds %d: write how many seeds to run, 1 or more", f.seeds)
	case changed("workers") && f.workers < 1:
		return badInput("--workers %d: write how many runs go side by side, 1 or more", f.workers)
	case f.output != "text" && f.output != "json":
		return badInput("--output %q: write text or json", f.output)
	case f.shrink < 0:
		return badInput("--shrink %s: write a time such as 10s, or 0s to leave histories as found", f.shrink)
	case (f.trace != "" || f.story) && !changed("seed"):
		return badInput("--trace and --story show one run; say which with --seed")
	case f.story && f.output == "json":
		return badInput("--story is for people; write it without -o json")
	}
	return nil
}

// session is one seedbed run in progress.
type session struct {
	*app
	flags    *runFlags
	style    scenarios.Style
	plan     scenarios.Plan
	replays  []string // to be repeated
	progress *progress
	texts    map[string]string // of failing scenarios, for JUnit
	writeErr error

	made map[lineKey]*scenarios.Outcome // to be compared with those of another process
}

func (a *app) run(ctx context.Context, f *runFlags, oneSeed bool, paths []string) error {
	paths, replays, err := withoutReplays(paths)
	if err != nil {
		return err
	}
	var files []*scenarios.File
	if len(paths) > 0 || len(replays) == 0 {
		if files, err = a.read(paths); err != nil {
			return err
		}
	}
	s := &session{replays: replays, app: a, flags: f, style: scenarios.Style{Colour: a.colour, Names: scenarios.NamesWidth(files), Verbose: f.verbose}, texts: map[string]string{}, made: map[lineKey]*scenarios.Outcome{}}
	s.plan = scenarios.Plan{Files: files, First: f.first, Seeds: f.seeds, Workers: f.workers, Verify: f.verify}
	if len(files) == 0 {
		return s.regressOnly(ctx)
	}
	if oneSeed {
		s.plan.First, s.plan.Seeds = f.seed, 1
	}
	if most := s.plan.Longest(); s.plan.First > math.MaxUint64-uint64(max(most, 1)-1) {
		return badInput("--first-seed %d: there are no %s from there on; the last seed is %d", s.plan.First, scenarios.Count(most, "seed"), uint64(math.MaxUint64))
	}
	if f.trace != "" || f.story {
		if len(files) != 1 {
			return badInput("--trace and --story show one run, but the paths name %s; give one file", scenarios.Count(len(files), "scenario"))
		}
		if err := s.showRun(files[0]); err != nil {
			return err
		}
	}
	junit, err := openJUnit(f.junit)
	if err != nil {
		return err
	}
	verdicts, interrupted := s.explore(ctx)
	code := exitOK
	if interrupted == nil && !f.onlyHashes {
		code = max(s.explain(ctx, verdicts), s.regress(ctx))
	}
	if f.verify && ctx.Err() == nil {
		there, err := s.elsewhere(ctx, paths)
		if err != nil {
			return err
		}
		code = max(code, there)
	}
	if err := writeJUnit(junit, verdicts, s.texts); err != nil {
		return err
	}
	if f.output == "text" {
		if err := a.annotate(verdicts); err != nil {
			return err
		}
	}
	sum := scenarios.Summarise(verdicts)
	sum.Interrupted = interrupted != nil
	if f.output == "text" {
		s.print(s.style.Summary(sum))
	}
	switch {
	case s.writeErr != nil:
		return badInput("write the output: %v", s.writeErr)
	case interrupted != nil:
		return &exit{exitInterrupted, fmt.Sprintf("interrupted after %d of %s", sum.Runs, scenarios.Count(s.plan.Runs(), "run"))}
	}
	if code = max(code, codeOf(verdicts)); code != exitOK {
		return &exit{code: code}
	}
	return nil
}

// openJUnit opens the report before anything runs, so that a bad path is told at
// once.
func openJUnit(path string) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, badInput("--junit: %v", err)
	}
	return file, nil
}

// writeJUnit writes the report, if one is wanted, and closes it.
func writeJUnit(file *os.File, verdicts []scenarios.Verdict, texts map[string]string) error {
	if file == nil {
		return nil
	}
	if err := errors.Join(scenarios.WriteJUnit(file, verdicts, texts), file.Close()); err != nil {
		return badInput("%v", err)
	}
	return nil
}

// annotate has GitHub show what is wrong beside the files, where GitHub runs this.
func (a *app) annotate(verdicts []scenarios.Verdict) error {
	if a.lookup("GITHUB_ACTIONS") != "true" {
		return nil
	}
	if err := scenarios.WriteAnnotations(a.out, verdicts); err != nil {
		return badInput("%v", err)
	}
	return nil
}

// explore makes the runs and prints what comes of them, in order.
func (s *session) explore(ctx context.Context) ([]scenarios.Verdict, error) {
	s.progress = newProgress(s.err, s.terminal)
	defer s.progress.clear()
	s.plan.Done = s.progress.show
	s.plan.Each = s.take
	if s.flags.output == "text" {
		s.print(s.style.Header())
		s.plan.Judged = func(v *scenarios.Verdict) { s.print(s.style.Verdict(v)) }
	}
	return s.registry.Run(ctx, s.plan)
}

// take takes in what came of one run.
func (s *session) take(o *scenarios.Outcome) {
	if s.flags.verify {
		s.made[lineKey{o.File.Path, o.Seed}] = o
	}
	if s.flags.output != "json" {
		return
	}
	if err := o.WriteJSON(s.out); err != nil && s.writeErr == nil {
		s.writeErr = err
	}
}

func (s *session) print(text string) {
	s.progress.clear()
	if _, err := fmt.Fprint(s.out, text); err != nil && s.writeErr == nil {
		s.writeErr = err
	}
}

// explain shows each scenario that is not in order: the first violation shrunk
// and told, or what else is wrong. It returns the exit code for violations that
// could not be explained.
func (s *session) explain(ctx context.Context, verdicts []scenarios.Verdict) int {
	code := exitOK
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case v.OK():
			continue
		case v.Bad != nil && v.Bad.Result == scenarios.Violated && ctx.Err() == nil:
			if err := s.explainViolation(v); err != nil {
				s.tell(v, s.style.Unexplained(v, err))
				code = exitEngine
			}
		case v.Err != nil:
			s.tell(v, s.style.Trouble(v))
		}
	}
	return code
}

// runName names one run in messages.
func runName(file *scenarios.File, seed uint64) string {
	return fmt.Sprintf("%s, seed %d", file.Metadata.Name, seed)
}

// explainViolation shrinks and tells the run that decides against a scenario. An
// error says that the engine failed, so that there is nothing to tell.
func (s *session) explainViolation(v *scenarios.Verdict) (err error) {
	defer recovered(runName(v.File, v.Bad.Seed), &err)
	budget := sim.Budget{Time: s.flags.shrink}
	if s.flags.shrink == 0 {
		budget.Runs = -1
	}
	failure, err := s.registry.Investigate(v.Bad, budget, s.flags.replays)
	if err != nil {
		return err
	}
	command := fmt.Sprintf("seedbed run %s --seed %d", v.File.Path, v.Bad.Seed)
	if failure.Replay != "" {
		command = "seedbed replay " + failure.Replay
	}
	s.tell(v, s.style.Failure(failure, command))
	return nil
}

// tell prints why a scenario is not in order: among the output for people, on
// standard error beside the output for machines, and in the JUnit report.
func (s *session) tell(v *scenarios.Verdict, text string) {
	s.texts[v.File.Metadata.Name] = strings.TrimSpace(text)
	if s.flags.output == "json" {
		fmt.Fprint(s.err, text)
		return
	}
	s.print(text)
}

// codeOf is the exit code of all verdicts: the engine's failures weigh most,
// since no other verdict can be trusted then.
func codeOf(verdicts []scenarios.Verdict) int {
	code := exitOK
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case v.OK():
		case v.Bad != nil && v.Bad.Result == scenarios.Failed:
			code = max(code, exitEngine)
		case v.Bad != nil && v.Bad.Result == scenarios.BadInput:
			code = max(code, exitBadInput)
		default:
			code = max(code, exitViolated)
		}
	}
	return code
}

// showRun makes one run with its whole trace, and writes it where it is wanted.
func (s *session) showRun(file *scenarios.File) (err error) {
	defer recovered(runName(file, s.plan.First), &err)
	outcome, records := s.registry.TraceSeed(file, s.plan.First)
	run := outcome.Report(records)
	run.Again = fmt.Sprintf("seedbed run %s --seed %d", file.Path, outcome.Seed)
	if err := writeTrace(s.flags.trace, run); err != nil {
		return err
	}
	if s.flags.story {
		var b strings.Builder
		scenarios.WriteStory(&b, records, 0)
		s.print(b.String() + "\n")
	}
	return nil
}
