package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestARunIsDrawn(t *testing.T) {
	folder := t.TempDir()
	trace := filepath.Join(folder, "run.jsonl")
	seedbed(t, "run", "testdata/holds.yaml", "--seed", "3", "--trace", trace).wants(t, exitOK)
	seedbed(t, "run", "testdata/breaks.yaml", "--replays", folder, "--shrink", "0s").wants(t, exitViolated)
	replay := filepath.Join(folder, "breaks-seed0.replay.json")

	for _, test := range []struct {
		name string
		args []string
		file string // that is written; empty for standard output
		says []string
	}{
		{"a trace", []string{trace}, filepath.Join(folder, "run.html"), []string{"<title>holds: held</title>"}},
		{"a replay file", []string{replay}, filepath.Join(folder, "breaks-seed0.html"), []string{"<title>breaks: violates mirror.no-orphans</title>"}},
		{"where it is wanted", []string{trace, "-o", filepath.Join(folder, "x")}, filepath.Join(folder, "x"), []string{"<!doctype html>"}},
		{"a diagram", []string{trace, "--format", "mermaid"}, filepath.Join(folder, "run.mmd"), []string{"sequenceDiagram\n", " as apiserver-0\n"}},
		{"a short diagram", []string{replay, "--format", "mermaid", "--lines", "1", "-o", "-"}, "", []string{"Note over p0: 1:00.010 property broken"}},
		{"text", []string{replay, "--format", "text"}, "", []string{`writes "one" into the original a`, "property broken"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := seedbed(t, append([]string{"report"}, test.args...)...)
			got.wants(t, exitOK)
			text := got.out
			if test.file != "" {
				if got.out != test.file+"\n" {
					t.Errorf("printed %q, want the path %s", got.out, test.file)
				}
				written, err := os.ReadFile(test.file)
				if err != nil {
					t.Fatal(err)
				}
				text = string(written)
			}
			for _, part := range test.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in\n%.2000s", part, text)
				}
			}
		})
	}
}

func TestWhatCannotBeDrawn(t *testing.T) {
	folder := t.TempDir()
	garbage := filepath.Join(folder, "garbage.json")
	if err := os.WriteFile(garbage, []byte("once upon a time\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		says string
	}{
		{nil, "takes one trace or replay file; 0 were given"},
		{[]string{filepath.Join(folder, "nothing")}, "no such file"},
		{[]string{garbage}, "garbage.json is neither a trace (line 1: not a trace: "},
		{[]string{garbage, "--format", "pdf"}, `--format is "pdf"; give html, mermaid or text`},
		{[]string{garbage, "--lines", "0"}, "--lines is 0; give 1 or more"},
	} {
		got := seedbed(t, append([]string{"report"}, test.args...)...)
		if got.code != exitBadInput || !strings.Contains(got.err, test.says) {
			t.Errorf("report %q: exit code %d and %q, want %d and %q", test.args, got.code, got.err, exitBadInput, test.says)
		}
	}
}
