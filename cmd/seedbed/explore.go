package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// exploreFlags are the flags of seedbed explore.
type exploreFlags struct {
	time     time.Duration
	seeds    int
	first    uint64
	strategy string
	faults   string
	workers  int
	shard    string
	shrink   time.Duration
	replays  string
	saveTo   string
	junit    string
}

func (a *app) exploreCommand() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore [PATH|NAME]…",
		Short: "Search for a history that breaks a scenario, in many ways",
		Long: `Search for a history that breaks a scenario: until one is found, until the time
is up, or until all seeds were run. A failing history is shrunk, told, and kept
in a replay file; with --save-to also in a folder of regressions, which seedbed
run repeats.

Each seed picks a strategy, which decides what runs next where several tasks
could, and whether the run has all faults of its scenario or a part of them
(swarm). The same seeds give the same findings on any number of workers, and the
shards 1/n to n/n together make the runs of the whole.

A systematic search tries one kind of trouble at every place of a run where it
could strike: --seeds is then how many reference runs are gone through.

With --faults other faults strike than those the scenario was written for. Its
waits may then end too early: such runs are told and not counted.

Exit codes: 0 nothing was found; 1 a property failed; 2 bad input; 3 the engine
itself failed; 130 interrupted.

` + strategiesHelp(),
		Example: `  seedbed explore safe-rotation --for 60s
  seedbed explore my.yaml --seeds 10000 --strategy pct-conflicts,swarm+pos
  seedbed explore my.yaml --faults races
  seedbed explore scenarios/ --seeds 1000 --shard 2/5
  seedbed explore my.yaml --save-to scenarios/regressions`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			plan, err := f.plan(cmd)
			if err != nil {
				return err
			}
			return a.explore(cmd.Context(), &f, plan, paths)
		},
	}
	f.search(cmd.Flags())
	f.results(cmd.Flags())
	cmd.Flags().IntVar(&f.workers, "workers", 0, "number of runs side by side, 1 or more (default: one per processor); results do not depend on it")
	cmd.Flags().StringVar(&f.shard, "shard", "1/1", "make only part i of n of the runs, such as 2/5")
	a.completeExplore(cmd)
	return cmd
}

// search are the flags that say what is searched for, and how.
func (f *exploreFlags) search(flags *pflag.FlagSet) {
	flags.DurationVar(&f.time, "for", 0, "explore for this long, such as 60s (default: 60s, unless --seeds is given)")
	flags.IntVar(&f.seeds, "seeds", 0, "number of seeds to run of each scenario, 1 or more")
	flags.Uint64Var(&f.first, "first-seed", 0, "the first seed to run, a whole number from 0")
	flags.StringVar(&f.strategy, "strategy", "mix", "strategies and searches separated by commas; each seed picks one of the strategies")
	flags.StringVar(&f.faults, "faults", "", "a profile, or kinds of fault separated by commas, in place of the scenarios' own faults")
	flags.DurationVar(&f.shrink, "shrink", 20*time.Second, "time for making each failing history small, such as 20s; 0s leaves it as found")
}

// results are the flags that say where to keep what was found.
func (f *exploreFlags) results(flags *pflag.FlagSet) {
	flags.StringVar(&f.replays, "replays", defaultReplays, "folder for the replay files and pictures of failing runs")
	flags.StringVar(&f.saveTo, "save-to", "", "keep the replay files of failing runs in this folder as well")
	flags.StringVar(&f.junit, "junit", "", "write a JUnit report to this file")
}

func (a *app) completeExplore(cmd *cobra.Command) {
	// The names are those registered above: errors cannot happen.
	_ = cmd.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions(explore.Names(), cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// strategiesHelp explains the names that --strategy takes.
func strategiesHelp() string {
	var b strings.Builder
	b.WriteString("Strategies; swarm+NAME is NAME with a part of the faults only:\n")
	fmt.Fprintf(&b, "  %-19s%s\n", "mix", "the default, printed at the start")
	fmt.Fprintf(&b, "  %-19s%s\n", "swarm", "the swarm half of mix")
	for _, s := range explore.Strategies() {
		b.WriteString(scenarios.Wrap(fmt.Sprintf("  %-19s", s.Name), s.Meaning))
	}
	b.WriteString("Systematic searches, with faults of their own: for each seed a reference run, and\nthen one run for each place in it where the fault could strike:\n")
	for _, p := range explore.Plans() {
		b.WriteString(scenarios.Wrap(fmt.Sprintf("  %-19s", p.Name), p.Meaning))
	}
	b.WriteString(scenarios.Wrap(fmt.Sprintf("  %-19s", "chance+NAME"), "One of those by chance: its faults strike now and then, anywhere, and nothing else goes wrong. A strategy, and part of mix for scenarios with all faults (profile stormy or swarm)."))
	b.WriteString("Search guided by coverage:\n")
	b.WriteString(scenarios.Wrap(fmt.Sprintf("  %-19s", "guided"), "Choices of runs that have shown something new are changed, one place at a time; with the strategies named beside it, or those of mix."))
	b.WriteString("Exhaustive search, for small scenarios:\n")
	b.WriteString(scenarios.Wrap(fmt.Sprintf("  %-19s", "exhaustive-N"), "Every history that differs from the simplest in at most N decisions (2 unless told): which task runs, "+
		"whether a message is quick or slow, whether a fault of the scenario strikes. It ends when all were made, whatever --seeds is."))
	return strings.TrimSuffix(b.String(), "\n")
}

// plan checks the flags, alone and together.
func (f *exploreFlags) plan(cmd *cobra.Command) (p scenarios.Exploration, err error) {
	changed := cmd.Flags().Changed
	switch {
	case changed("for") && f.time <= 0:
		return p, badInput("--for %s: write for how long to explore, such as 60s", f.time)
	case changed("seeds") && f.seeds < 1:
		return p, badInput("--seeds %d: write how many seeds to run, 1 or more", f.seeds)
	case f.seeds > 0 && f.first > math.MaxUint64-uint64(f.seeds-1):
		return p, badInput("--first-seed %d: there are no %s from there on; the last seed is %d", f.first, scenarios.Count(f.seeds, "seed"), uint64(math.MaxUint64))
	case changed("workers") && f.workers < 1:
		return p, badInput("--workers %d: write how many runs go side by side, 1 or more", f.workers)
	case f.shrink < 0:
		return p, badInput("--shrink %s: write a time such as 20s, or 0s to leave histories as found", f.shrink)
	}
	if f.time == 0 && f.seeds == 0 {
		f.time = time.Minute
	}
	search, err := explore.Parse(f.strategy)
	var unknown *explore.UnknownStrategyError
	if errors.As(err, &unknown) {
		hint := ""
		if near := scenarios.Nearest(unknown.Name, explore.Names()); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return p, badInput("--strategy: %v%s The strategies are %s; swarm+ may stand before each.", unknown, orStop(hint), strings.Join(explore.Names(), ", "))
	}
	shard := explore.Shard{Count: 1}
	if f.shard != "" {
		if shard, err = parseShard(f.shard); err != nil {
			return p, err
		}
	}
	return scenarios.Exploration{
		Seeds: explore.Seeds{First: f.first, Count: uint64(f.seeds), Shard: shard}, For: f.time,
		Workers: f.workers, Search: search, Faults: f.faults,
	}, nil
}

// parseShard reads "2/5".
func parseShard(text string) (explore.Shard, error) {
	var i, n uint64
	if _, err := fmt.Sscanf(text, "%d/%d", &i, &n); err != nil || i < 1 || i > n || fmt.Sprintf("%d/%d", i, n) != text {
		return explore.Shard{}, badInput("--shard %q: write which part of how many, such as 2/5", text)
	}
	return explore.Shard{Index: i - 1, Count: n}, nil
}

func (a *app) explore(ctx context.Context, f *exploreFlags, plan scenarios.Exploration, paths []string) error {
	files, err := a.read(paths)
	if err != nil {
		return err
	}
	if plan.Faults != "" {
		if _, err := a.registry.Override(plan.Faults); err != nil {
			return badInput("--faults: %v", err)
		}
	}
	plan.Files = files
	junit, err := openJUnit(f.junit)
	if err != nil {
		return err
	}
	style := scenarios.Style{Colour: a.colour, Names: scenarios.NamesWidth(files)}
	fmt.Fprint(a.out, style.Exploring(plan.Search, plan.Faults))
	line := newLiveLine(a.err, a.terminal)
	plan.Progress = func(e *scenarios.Explored) { line.show(e.Progress()) }
	explored, err := a.registry.Explore(ctx, plan)
	line.clear()
	if err != nil {
		return badInput("%v", err)
	}
	if err := a.printExplored(explored, plan.Search, style); err != nil {
		return err
	}
	if ctx.Err() != nil {
		if err := a.machines(explored, junit, nil); err != nil {
			return err
		}
		return &exit{exitInterrupted, fmt.Sprintf("interrupted after %s", scenarios.Count(explored.Runs, "run"))}
	}
	texts := map[string]string{}
	told := a.findings(explored, f, style, texts)
	if err := a.machines(explored, junit, texts); err != nil {
		return err
	}
	return told
}

// machines tells programs what was found: JUnit's, if a report is wanted, and GitHub's.
func (a *app) machines(explored *scenarios.Explored, junit *os.File, texts map[string]string) error {
	verdicts := make([]scenarios.Verdict, len(explored.Files))
	for i, f := range explored.Files {
		verdicts[i] = f.Verdict()
	}
	if err := writeJUnit(junit, verdicts, texts); err != nil {
		return err
	}
	return a.annotate(verdicts)
}

// printExplored tells what was exercised, and how hard it was looked.
func (a *app) printExplored(explored *scenarios.Explored, search explore.Selection, style scenarios.Style) error {
	text := style.Explored(explored)
	if slices.ContainsFunc(search.Strategies, func(s explore.Strategy) bool { return strings.Contains(s.Name, "pct") }) && len(explored.Files) == 1 {
		text += scenarios.Wrap("  bound                ", explore.Bound(explored.Files[0].Survey))
	}
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return badInput("write the output: %v", err)
	}
	return nil
}

// findings shrinks and tells what was found; the stories come into texts as well, by
// scenario.
func (a *app) findings(explored *scenarios.Explored, f *exploreFlags, style scenarios.Style, texts map[string]string) error {
	code := exitOK
	for _, file := range explored.Files {
		switch {
		case file.Bad == nil:
		case file.Bad.Result == scenarios.Violated:
			found, err := a.finding(file, f, style, texts)
			code = max(code, found)
			if err != nil {
				return err
			}
		case file.Bad.Result == scenarios.BadInput:
			code = max(code, exitBadInput)
		default:
			code = max(code, exitEngine)
		}
	}
	if code != exitOK {
		return &exit{code: code}
	}
	return nil
}

// finding shrinks and tells one failing run, and keeps its replay file.
func (a *app) finding(file *scenarios.ExploredFile, f *exploreFlags, style scenarios.Style, texts map[string]string) (code int, err error) {
	defer recovered(runName(file.File, file.Bad.Seed), &err)
	budget := sim.Budget{Runs: 2000, Time: f.shrink}
	if f.shrink == 0 {
		budget.Runs = -1
	}
	failure, err := a.registry.Investigate(file.Bad, budget, f.replays)
	if err != nil {
		return exitEngine, &exit{exitEngine, err.Error()}
	}
	command := fmt.Sprintf("seedbed explore %s --seeds 1 --first-seed %d --strategy %s", file.File.Path, file.Bad.Seed, f.strategy)
	if f.faults != "" {
		command += " --faults " + f.faults
	}
	if failure.Replay != "" {
		command = "seedbed replay " + failure.Replay
	}
	fmt.Fprint(a.out, style.Failure(failure, command))
	texts[file.File.Metadata.Name] = scenarios.Style{}.Failure(failure, command)
	if f.saveTo == "" || failure.Replay == "" {
		return exitViolated, nil
	}
	kept, err := keep(failure.Replay, f.saveTo)
	if err != nil {
		return exitBadInput, badInput("--save-to: %v", err)
	}
	fmt.Fprintf(a.out, "  kept     %s\n", kept)
	return exitViolated, nil
}

// keep copies a replay file into a folder of regressions.
func keep(replay, folder string) (string, error) {
	text, err := os.ReadFile(replay)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, filepath.Base(replay))
	return path, os.WriteFile(path, text, 0o644)
}

// liveLine shows how an exploration goes: one line that changes on a terminal, and
// elsewhere a line now and then.
type liveLine struct {
	out      io.Writer
	terminal bool
	last     time.Time

	mu      sync.Mutex
	visible bool
}

// plainEvery is how often a line is written where lines stay.
const plainEvery = 10 * time.Second

func newLiveLine(out io.Writer, terminal bool) *liveLine {
	return &liveLine{out: out, terminal: terminal, last: time.Now()}
}

func (l *liveLine) show(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	every, form := plainEvery, "%s\n"
	if l.terminal {
		every, form = refreshTime, "\r\x1b[K%s"
	}
	if now := time.Now(); now.Sub(l.last) >= every {
		l.last, l.visible = now, l.terminal
		fmt.Fprintf(l.out, form, text)
	}
}

func (l *liveLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.visible {
		fmt.Fprint(l.out, "\r\x1b[K")
		l.visible = false
	}
}
