package mutation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Sites lists the sites of a target in the order of their numbers.
func (t *Target) Sites(root string) ([]Site, error) {
	var sites []Site
	err := t.each(root, func(_ string, f *finder) error {
		sites = append(sites, f.sites...)
		return nil
	})
	return sites, err
}

// folder is that of the package.
func (t *Target) folder(root string) string {
	return filepath.Join(root, filepath.FromSlash(t.Package))
}

// each goes through the files of a target.
func (t *Target) each(root string, visit func(path string, f *finder) error) error {
	folder := t.folder(root)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("mutants of %s: %w", t.Package, err)
	}
	next := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		path := filepath.Join(folder, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("mutants of %s: %w", t.Package, err)
		}
		f, err := find(&t.Rules, e.Name(), string(text), next)
		if err != nil {
			return fmt.Errorf("mutants of %s: %w", path, err)
		}
		next = f.next
		if err := visit(path, f); err != nil {
			return err
		}
	}
	return nil
}

// Planted are the programs in which the mutants of a target wait for their switches.
type Planted struct {
	Runner string // tries mutants on scenarios
	Tests  string // the tests of the package; empty if the target has none
}

// Plant builds them in a folder; the root is that of the module.
func (t *Target) Plant(root, folder string) (*Planted, error) {
	overlay, err := t.overlay(root, folder)
	if err != nil {
		return nil, err
	}
	p := &Planted{Runner: filepath.Join(folder, "runner")}
	// Without symbols linking takes half the time.
	build := [][]string{{"build", "-overlay", overlay, "-ldflags=-s -w", "-o", p.Runner, "./scenarios/mutation/runner"}}
	if t.Tested {
		p.Tests = filepath.Join(folder, "tests")
		build = append(build, []string{"test", "-c", "-vet=off", "-overlay", overlay, "-ldflags=-s -w", "-o", p.Tests, "./" + t.Package})
	}
	for _, args := range build {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s with its mutants: %w\n%s", t.Package, err, out)
		}
	}
	return p, nil
}

// overlay writes copies of the files of a target, with switches in them, and the file for
// the -overlay flag of the go command, whose path it returns.
func (t *Target) overlay(root, folder string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("mutants of %s: %w", t.Package, err)
	}
	replace := map[string]string{}
	err = t.each(root, func(path string, f *finder) error {
		if len(f.sites) == 0 {
			return nil
		}
		replace[path] = filepath.Join(folder, filepath.Base(path))
		return os.WriteFile(replace[path], []byte(f.rewritten()), 0o644)
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("mutants of %s: %w", t.Package, err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}
