package determinism

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestAnalyzer runs the analyzer over small packages whose comments say what
// it must find and, by silence, what it must let through.
func TestAnalyzer(t *testing.T) {
	for _, pkg := range []string{"core/names", "core/concurrency", "core/state", "core/order", "sim/light", "cmd/free"} {
		t.Run(pkg, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), Analyzer, Module+"/"+pkg)
		})
	}
}

// TestEveryBanIsReached makes sure that no row of the table is a typing error:
// each package it names must exist in the standard library or in a module.
func TestEveryBanIsReached(t *testing.T) {
	for _, b := range bans {
		first, _, _ := strings.Cut(b.pkg, "/")
		if strings.Contains(first, ".") {
			continue // of a module, which this module need not have
		}
		if _, err := os.Stat(filepath.Join(goroot(t), "src", b.pkg)); err != nil {
			t.Errorf("bans name package %s, which the standard library does not have", b.pkg)
		}
	}
}

// TestExceptions: core has none, each has a reason and a file that exists.
func TestExceptions(t *testing.T) {
	for _, e := range exceptions {
		if strings.HasPrefix(e.file, "core/") {
			t.Errorf("%s is excepted from rule %s, but core has no exceptions", e.file, e.rule)
		}
		if e.why == "" {
			t.Errorf("%s is excepted from rule %s without a reason", e.file, e.rule)
		}
		if _, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(e.file))); err != nil {
			t.Errorf("%s is excepted from rule %s, but is not there: %v", e.file, e.rule, err)
		}
	}
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	return strings.TrimSpace(string(out))
}
