package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/scenarios"
)

func (a *app) fidelityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fidelity",
		Short: "Hold the fake API server against a real one",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(a.casesCommand(), a.randomCommand(), a.recordCommand())
	return cmd
}

// casesFlags are the flags of seedbed fidelity cases.
type casesFlags struct {
	server  serverFlags
	against string
	output  string
	all     bool
}

func (a *app) casesCommand() *cobra.Command {
	var f casesFlags
	cmd := &cobra.Command{
		Use:   "cases DIR|FILE…",
		Short: "Run recorded conversations with a real API server, and compare the answers",
		Long: `Run case files, or all *.yaml files of a folder. A case is a conversation that
was recorded from a real kube-apiserver; what the server under test answers must
be the same, apart from what differs from run to run.

One line is printed per case: its name, and whether it agreed or at which step
and field it first differed.

The server under test is the fake, or with --against real a real one: that at
--url, or one that is started, and for cases with the profile "full" another
with kube-controller-manager. A server at --url that has that needs --full, and
cannot be restarted or its etcd compacted.

Exit codes: 0 all cases agreed; 1 one differed or could not be run; 2 bad input.`,
		Example: `  seedbed fidelity cases fakes/apiserver/conformance/testdata/cases
  seedbed fidelity cases cases/ --against real
  seedbed fidelity cases one.yaml --against real --url https://127.0.0.1:6443 --token T --ca ca.crt`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.cases(cmd.Context(), &f, paths)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.against, "against", "fake", "the server under test: fake or real")
	flags.StringVarP(&f.output, "output", "o", "text", "form of the output: text, or json for one line per case")
	flags.BoolVar(&f.all, "all", false, "print every difference of a case, not only the first")
	f.server.register(flags)
	return cmd
}

func (f *casesFlags) check() error {
	switch {
	case f.against != "fake" && f.against != "real":
		return badInput("--against %q: write fake or real", f.against)
	case f.output != "text" && f.output != "json":
		return badInput("--output %q: write text or json", f.output)
	case f.against == "real":
		return f.server.check()
	}
	return nil
}

func (a *app) cases(ctx context.Context, f *casesFlags, paths []string) error {
	cases, err := readCases(paths)
	if err != nil {
		return err
	}
	server, workers := server(fakeServer{}), min(len(cases), 4*runtime.GOMAXPROCS(0))
	if f.against == "real" {
		server, workers = f.server.open(), 1 // a case may restart it
	}
	defer func() {
		if err := server.close(); err != nil {
			fmt.Fprintf(a.err, "seedbed: %v\n", err)
		}
	}()
	results := make([]chan *conformance.Result, len(cases))
	for i := range results {
		results[i] = make(chan *conformance.Result, 1)
	}
	next := make(chan int)
	for range workers {
		go func() {
			for i := range next {
				results[i] <- runCase(ctx, server, cases[i])
			}
		}()
	}
	go func() {
		defer close(next)
		for i := range cases {
			next <- i
		}
	}()
	report := conformance.Report{}
	for i := range cases {
		result := <-results[i]
		report.Results = append(report.Results, result)
		if err := f.print(a, result); err != nil {
			return err
		}
	}
	return a.summary(f, &report)
}

func runCase(ctx context.Context, s server, c *conformance.Case) *conformance.Result {
	target, err := s.target(ctx, c)
	if err != nil {
		return &conformance.Result{Case: c, Err: err}
	}
	return conformance.RunCase(ctx, target, c)
}

// readCases reads files, and those of folders.
func readCases(paths []string) ([]*conformance.Case, error) {
	return readFiles(paths, conformance.LoadFiles)
}

func readFiles(paths []string, load func([]string) ([]*conformance.Case, error)) ([]*conformance.Case, error) {
	if len(paths) == 0 {
		return nil, badInput("which cases? give case files, or folders of them")
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, badInput("%s does not exist; give a case file, or a folder with *.yaml files", path)
		case !info.IsDir():
			files = append(files, path)
			continue
		}
		found, err := filepath.Glob(filepath.Join(path, "*.yaml"))
		if err != nil || len(found) == 0 {
			return nil, badInput("%s has no *.yaml files; give a case file, or a folder of them", path)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	cases, err := load(slices.Compact(files))
	var mistakes conformance.Mistakes
	if errors.As(err, &mistakes) {
		return nil, badInput("%v\nseedbed: %s; nothing was run", mistakes, scenarios.Count(len(mistakes), "mistake"))
	}
	if err != nil {
		return nil, badInput("%v", err)
	}
	return cases, nil
}

// caseLine is what -o json says of a case.
type caseLine struct {
	Case    string `json:"case"`
	Verdict string `json:"verdict"` // agreed, differed, broken
	Step    string `json:"step,omitempty"`
	Field   string `json:"field,omitempty"`
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	Why     string `json:"why,omitempty"`
	Error   string `json:"error,omitempty"`
	Right   int    `json:"stepsRight"`
	Steps   int    `json:"steps"`
}

func lineOf(r *conformance.Result) caseLine {
	line := caseLine{Case: r.Case.Name, Verdict: r.Verdict(nil).String()}
	line.Right, line.Steps = r.Steps()
	if step, d := r.First(nil); step != nil {
		line.Step, line.Field, line.Want, line.Got, line.Why = step.ID, d.Field, d.Want, d.Got, d.Why
	}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	return line
}

func (f *casesFlags) print(a *app, r *conformance.Result) error {
	line := lineOf(r)
	var err error
	if f.output == "json" {
		err = json.NewEncoder(a.out).Encode(line)
	} else {
		_, err = fmt.Fprintln(a.out, f.text(r, line))
	}
	if err != nil {
		return badInput("write the output: %v", err)
	}
	return nil
}

func (f *casesFlags) text(r *conformance.Result, line caseLine) string {
	text := fmt.Sprintf("%-60s %s", line.Case, line.Verdict)
	step, d := r.First(nil)
	switch {
	case step != nil:
		text += fmt.Sprintf(" at step %s, %s", step.ID, d)
	case r.Err != nil:
		return text + ": " + line.Error
	}
	if !f.all {
		return text
	}
	for _, o := range r.Outcomes {
		for _, other := range o.Differences {
			if other != *d || o.Step != step {
				text += fmt.Sprintf("\n    step %s, %s", o.Step.ID, other)
			}
		}
	}
	return text
}

// summary prints the score and picks the exit code.
func (a *app) summary(f *casesFlags, report *conformance.Report) error {
	score := report.Score()
	agreed := score.Cases[conformance.Agreed]
	if f.output == "text" {
		fmt.Fprintf(a.out, "%s: %d agreed, %d differed, %d could not be run to the end; %d of %d recorded steps right\n",
			scenarios.Count(len(report.Results), "case"), agreed, score.Cases[conformance.Differed], score.Cases[conformance.Broken],
			score.StepsRight, score.Steps)
	}
	if agreed < len(report.Results) {
		return &exit{code: exitViolated}
	}
	return nil
}
