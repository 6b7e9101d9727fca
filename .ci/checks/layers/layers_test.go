package layers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/seedbed-sim/seedbed"

// plant is one file that imports one package.
type plant struct {
	file string // a path in the tree; %d makes it unique
	pkg  string // below the module if it starts with a slash
	bad  bool
}

var plants = []plant{
	{"core/p%d/p.go", "/fakes/room", true},
	{"core/p%d/p.go", "/sim", true},
	{"core/p%d/p.go", "/sim/engine", true},
	{"core/p%d/p.go", "/scenarios", true},
	{"core/p%d/p.go", "/realmode/room", true},
	{"core/p%d/p.go", "/bpf", true},
	{"core/p%d/p.go", "/cmd/room", true},
	{"core/p%d/p.go", "github.com/hashicorp/memberlist", true},
	{"core/p%d/p.go", "/core/kube", false},
	{"core/p%d/p_test.go", "/fakes/room", false},
	{"core/p%d/p_test.go", "/sim", false},
	{"core/p%d/p_test.go", "/scenarios", true},
	{"core/p%d/p_test.go", "/realmode/room", true},
	{"core/p%d/p_test.go", "/bpf", true},
	{"core/clock/p%d/p.go", "/core/kube", true},
	{"core/clock/p%d/p.go", "k8s.io/apimachinery/pkg/types", true},
	{"core/clock/p%d/p.go", "k8s.io/utils/clock", false},

	{"fakes/p%d/p.go", "/sim", true},
	{"fakes/p%d/p.go", "/scenarios", true},
	{"fakes/p%d/p.go", "/realmode/room", true},
	{"fakes/p%d/p.go", "/bpf", true},
	{"fakes/p%d/p.go", "/cmd/room", true},
	{"fakes/p%d/p.go", "github.com/hashicorp/memberlist", true},
	{"fakes/p%d/p.go", "/core/kube", false},
	{"fakes/p%d/p_test.go", "/sim", true},
	{"fakes/gossip/p%d/p.go", "github.com/hashicorp/memberlist", false},
	{"fakes/apiserver/store/p%d/p.go", "k8s.io/api/core/v1", true},
	{"fakes/apiserver/store/p%d/p.go", "k8s.io/apimachinery/pkg/types", false},

	{"sim/p%d/p.go", "/scenarios", true},
	{"sim/p%d/p.go", "/realmode/room", true},
	{"sim/p%d/p.go", "/bpf", true},
	{"sim/p%d/p.go", "/cmd/room", true},
	{"sim/p%d/p.go", "/fakes/room", false},
	{"sim/p%d/p.go", "/core/kube", false},
	{"sim/engine/p%d/p.go", "/core/clock", true},
	{"sim/engine/p%d/p.go", "/fakes/room", true},
	{"sim/engine/p%d/p.go", "k8s.io/utils/clock", true},
	{"sim/engine/p%d/p.go", "container/heap", false},
	{"sim/engine/p%d/p_test.go", "pgregory.net/rapid", false},
	{"sim/network/p%d/p.go", "k8s.io/apimachinery/pkg/types", true},
	{"sim/disk/p%d/p.go", "/fakes/room", true},
	{"sim/disk/p%d/p.go", "/sim/engine", false},

	{"scenarios/p%d/p.go", "/realmode/room", true},
	{"scenarios/p%d/p.go", "/bpf", true},
	{"scenarios/p%d/p.go", "/cmd/room", true},
	{"scenarios/p%d/p.go", "/sim", false},

	{"realmode/p%d/p.go", "/sim", true},
	{"realmode/p%d/p.go", "/sim/engine", true},
	{"realmode/p%d/p.go", "/fakes/room", true},
	{"realmode/p%d/p.go", "/scenarios", true},
	{"realmode/p%d/p.go", "/cmd/room", true},
	{"realmode/p%d/p.go", "/core/kube", false},
	{"realmode/p%d/p.go", "/bpf", false},
	{"realmode/p%d/p.go", "github.com/hashicorp/memberlist", false},
	{"realmode/p%d/p_test.go", "/fakes/room", false},
	{"realmode/p%d/p_test.go", "/sim", true},

	{"bpf/p%d/p.go", "/core/kube", true},
	{"bpf/p%d/p.go", "/sim", true},
	{"bpf/p%d/p.go", "/fakes/room", true},
	{"bpf/p%d/p.go", "/realmode/room", true},

	{"cmd/p%d/p.go", "/scenarios", false},
	{"cmd/p%d/p.go", "/realmode/room", false},
	{"cmd/p%d/p.go", "/cmd/room", true},
	{"scenarios/p%d/p.go", "sigs.k8s.io/yaml", false},
	{"scenarios/p%d/p.go", "k8s.io/klog/v2", true},
}

// TestEachArrowIsHeld lints a tree of its own that has the project's
// configuration and one planted file per row.
func TestEachArrowIsHeld(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum", ".golangci.yml"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(data))
	}
	for _, pkg := range []string{"core/kube", "core/clock", "fakes/room", "sim", "sim/engine", "scenarios", "realmode/room", "bpf", "cmd/room"} {
		write(t, dir, pkg+"/room.go", "// Package room is empty.\npackage room\n")
	}
	want := map[string]bool{}
	label := map[string]string{}
	for i, p := range plants {
		file := fmt.Sprintf(p.file, i)
		path := p.pkg
		if strings.HasPrefix(path, "/") {
			path = module + path
		}
		write(t, dir, file, fmt.Sprintf("package p\n\nimport _ %q\n", path))
		label[file] = fmt.Sprintf("%s imports %s", p.file, p.pkg)
		want[label[file]] = p.bad
	}

	got := map[string]bool{}
	for _, l := range label {
		got[l] = false
	}
	for _, file := range lint(t, dir) {
		got[label[file]] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("which imports are refused (-want +got):\n%s", diff)
	}
}

// lint returns the files with a finding of depguard.
func lint(t *testing.T, dir string) []string {
	t.Helper()
	cmd := exec.Command(linter(t), "run", "--enable-only", "depguard", "--output.json.path", "stdout",
		"--output.text.path", os.DevNull, "--show-stats=false", "--max-same-issues", "0", "--max-issues-per-linter", "0", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run() // exits 1 because it finds something
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct{ Filename string }
		}
	}
	if jsonErr := json.Unmarshal(stdout.Bytes(), &report); jsonErr != nil {
		t.Fatalf("golangci-lint: %v: %v\n%s%s", err, jsonErr, stdout.String(), stderr.String())
	}
	var files []string
	for _, i := range report.Issues {
		if i.FromLinter != "depguard" {
			t.Fatalf("%s: %s (%s)", i.Pos.Filename, i.Text, i.FromLinter)
		}
		files = append(files, filepath.ToSlash(i.Pos.Filename))
	}
	return files
}

// linter is the pinned golangci-lint: the one make built, or else one built
// here.
func linter(t *testing.T) string {
	t.Helper()
	name := "golangci-lint"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if built, err := filepath.Abs(filepath.Join("..", "..", "bin", name)); err == nil {
		if _, err := os.Stat(built); err == nil {
			return built
		}
	}
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", path, "github.com/golangci/golangci-lint/v2/cmd/golangci-lint")
	cmd.Dir = filepath.Join("..", "..", "tools")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build golangci-lint: %v\n%s", err, out)
	}
	return path
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
