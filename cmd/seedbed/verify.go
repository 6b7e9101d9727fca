package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/report"
)

// lineKey is a run of a file.
type lineKey struct {
	file string
	seed uint64
}

// elsewhere makes the runs of the session again, in a process of its own, and returns
// the exit code: other hashes there are a failure of the engine, or of what is tested.
// What is the same twice in one process may still depend on where things lie in memory,
// on the environment, or on what was run before.
func (s *session) elsewhere(ctx context.Context, paths []string) (int, error) {
	args := append([]string{"run"}, paths...)
	args = append(args, "--only-hashes", "--output", "json", "--first-seed", strconv.FormatUint(s.plan.First, 10))
	if s.plan.Seeds > 0 {
		args = append(args, "--seeds", strconv.Itoa(s.plan.Seeds))
	}
	if s.plan.Workers > 0 {
		args = append(args, "--workers", strconv.Itoa(s.plan.Workers))
	}
	out, err := s.anotherProcess(ctx, args)
	if err != nil {
		return exitEngine, err
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	compared, code := 0, exitOK
	for {
		var there scenarios.Line
		if err := lines.Decode(&there); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return exitEngine, &exit{exitEngine, fmt.Sprintf("read what another process has run: %v", err)}
		}
		here, ok := s.made[lineKey{there.File, there.Seed}]
		if !ok { // one of the two has stopped earlier, at another violation
			continue
		}
		compared++
		if here.Result != scenarios.Failed && here.Line().Hash != there.Hash {
			code = exitEngine
			text := s.differs(ctx, here, there.Hash)
			if s.flags.output == "json" {
				fmt.Fprint(s.err, text)
			} else {
				s.print(text)
			}
		}
	}
	if compared == 0 {
		return exitEngine, &exit{exitEngine, "another process has made none of the runs, so that none was compared"}
	}
	return code, nil
}

// differs tells where a run parts that another process makes differently.
func (s *session) differs(ctx context.Context, here *scenarios.Outcome, there string) string {
	found := &sim.NondeterminismError{Seed: here.Seed, First: here.Hash, Steps: here.Steps}
	found.Second, _ = strconv.ParseUint(there, 16, 64)
	_, mine := s.registry.TraceSeed(here.File, here.Seed)
	if other, err := s.tracedElsewhere(ctx, here); err == nil {
		found.Place = sim.Diverge(mine, other.Records)
	}
	v := &scenarios.Verdict{File: here.File, Bad: &scenarios.Outcome{File: here.File, Seed: here.Seed, Result: scenarios.Failed}, Err: fmt.Errorf("in another process %w", found)}
	return s.style.Trouble(v)
}

// tracedElsewhere makes one run in a process of its own and returns its trace.
func (s *session) tracedElsewhere(ctx context.Context, of *scenarios.Outcome) (*report.Run, error) {
	folder, err := os.MkdirTemp("", "seedbed-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	trace := filepath.Join(folder, "trace.jsonl")
	if _, err := s.anotherProcess(ctx, []string{"run", of.File.Path, "--only-hashes", "--output", "json", "--seed", strconv.FormatUint(of.Seed, 10), "--trace", trace}); err != nil {
		return nil, err
	}
	in, err := os.Open(trace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	return report.ReadTrace(in)
}

// anotherProcess runs this program with other arguments and returns what it prints. That
// runs violate something is no error: it does so here as well.
func (s *session) anotherProcess(ctx context.Context, args []string) ([]byte, error) {
	program := s.program
	if program == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, &exit{exitEngine, fmt.Sprintf("find this program, to run it again: %v", err)}
		}
		program = func(ctx context.Context, args ...string) *exec.Cmd { return exec.CommandContext(ctx, self, args...) }
	}
	cmd := program(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() != exitBadInput && ended.ExitCode() >= 0 {
		err = nil
	}
	if err != nil {
		return nil, &exit{exitEngine, fmt.Sprintf("run %v in another process: %v\n%s", args, err, errs.Bytes())}
	}
	return out.Bytes(), nil
}
