package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// moody is a system whose property is judged by how often it was built: what it
// does is not repeated by another run of the same seed.
func moody(t *testing.T, judge func(built int) error) (*scenarios.Registry, string) {
	t.Helper()
	built := 0
	system := scenarios.System{
		Name: "moody", Doc: "A system that remembers how often it was built.",
		Build: scenarios.BuildWith(func(*scenarios.World, struct{}) (int, error) {
			built++
			return built, nil
		}),
		Properties: []scenarios.Property{
			scenarios.NewProperty("calm", "It is in a good mood.", func(_ *scenarios.World, built int) scenarios.Check {
				return scenarios.Check{Finally: func() error { return judge(built) }}
			}),
		},
	}
	path := filepath.Join(t.TempDir(), "moody.yaml")
	text := "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: moody, description: Not the same twice.}\n" +
		"systems: {moody: }\nproperties: [moody.*]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return scenarios.MustNew(system), path
}

func TestWhatCannotBeExplainedIsReportedAllTheSame(t *testing.T) {
	registry, path := moody(t, func(built int) error {
		if built == 1 {
			return errors.New("not today")
		}
		return nil
	})
	var out bytes.Buffer
	a := &app{registry: registry, out: &out, err: &out}
	junit := filepath.Join(t.TempDir(), "report.xml")
	code := a.main(context.Background(), []string{"run", path, "--seeds", "1", "--workers", "1", "--junit", junit, "--replays", t.TempDir()})
	text, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	if code != exitEngine || !strings.Contains(string(text), "violates moody.calm at seed 0: not today") {
		t.Errorf("exit code %d, JUnit:\n%s", code, text)
	}
	for _, part := range []string{"ERROR moody, seed 0\n", "but the run could not be looked into", "1 scenario, 1 run"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not said:\n%s", part, out.String())
		}
	}
}

// TestAPanicOfTheProgramIsNotBadInput: Go ends a program that panics with exit
// code 2.
func TestAPanicOfTheProgramIsNotBadInput(t *testing.T) {
	var out bytes.Buffer
	a := &app{registry: scenarios.MustNew(), out: &out, err: &out, library: func() ([]*scenarios.File, error) { panic("no shelf") }}
	if code := a.main(context.Background(), []string{"check"}); code != exitEngine {
		t.Errorf("exit code %d", code)
	}
	for _, part := range []string{"seedbed: seedbed check: the program has a mistake: panic: no shelf\n", "trouble_test.go"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not said:\n%s", part, out.String())
		}
	}
}
