package binaries

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// greeter is a pin with one small program that says its version. It needs no
// network, because its module is replaced by a folder.
func greeter(t *testing.T) (pin, string) {
	t.Helper()
	source := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.invalid/pins\n\ngo 1.26\n\nrequire example.invalid/greeter v1.2.3\n\nreplace example.invalid/greeter => ./greeter\n",
		"go.sum":          "",
		"greeter/go.mod":  "module example.invalid/greeter\n\ngo 1.26\n",
		"greeter/main.go": "package main\n\nvar version = \"unknown\"\n\nfunc main() { print(version) }\n",
	} {
		file := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return pin{
		name: "greeter", module: "example.invalid/greeter",
		packages:     map[Program]string{"hello": "example.invalid/greeter"},
		versionFlags: []string{"main.version=VERSION/MAJOR/MINOR"},
	}, source
}

func mustBuild(t *testing.T, p pin, source, root string) *build {
	t.Helper()
	b, err := newBuild(context.Background(), p, source, root)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAProgramIsBuiltOnce(t *testing.T) {
	p, source := greeter(t)
	b := mustBuild(t, p, source, t.TempDir())
	var log bytes.Buffer
	for range 2 {
		if err := b.provide(context.Background(), &log, []Program{"hello"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "building"); n != 1 {
		t.Errorf("built %d times:\n%s", n, &log)
	}
	said, err := exec.Command(b.path("hello")).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("v1.2.3/1/2", string(said)); diff != "" {
		t.Errorf("the program's version (-want +got):\n%s", diff)
	}
	if left, _ := filepath.Glob(filepath.Join(b.target, ".build*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestTwoBuildersBuildOnce(t *testing.T) {
	p, source := greeter(t)
	b := mustBuild(t, p, source, t.TempDir())
	var logs [2]bytes.Buffer
	var builders sync.WaitGroup
	for i := range logs {
		builders.Go(func() {
			if err := b.provide(context.Background(), &logs[i], []Program{"hello"}); err != nil {
				t.Error(err)
			}
		})
	}
	builders.Wait()
	if n := strings.Count(logs[0].String()+logs[1].String(), "building"); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestAFailedBuildTellsWhyAndLeavesNothing(t *testing.T) {
	p, source := greeter(t)
	if err := os.WriteFile(filepath.Join(source, "greeter", "main.go"), []byte("package main\n\nfunc main() { nonsense() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := mustBuild(t, p, source, t.TempDir())
	err := b.provide(context.Background(), &bytes.Buffer{}, []Program{"hello"})
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("the error is %v", err)
	}
	if missing, err := b.missing([]Program{"hello"}); err != nil || len(missing) != 1 {
		t.Errorf("missing: %v, %v", missing, err)
	}
}

func TestAnotherVersionIsAnotherFolder(t *testing.T) {
	p, source := greeter(t)
	root := t.TempDir()
	first := mustBuild(t, p, source, root)
	file := filepath.Join(source, "go.mod")
	mod, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ from, to string }{{"v1.2.3", "v1.2.4"}, {"go 1.26\n", "go 1.26 // again\n"}} {
		if err := os.WriteFile(file, bytes.Replace(mod, []byte(change.from), []byte(change.to), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		if other := mustBuild(t, p, source, root); other.target == first.target {
			t.Errorf("%s -> %s: both are in %s", change.from, change.to, first.target)
		}
	}
}

func TestUnknownProgramsAreRefused(t *testing.T) {
	_, err := Build(context.Background(), &bytes.Buffer{}, "kube-etcd")
	if err == nil || !strings.Contains(err.Error(), `no program is called "kube-etcd"`) {
		t.Errorf("the error is %v", err)
	}
}

// TestPins holds the modules in pins to the table of programs: each program has
// its tool line, and its version is the one that is asked for.
func TestPins(t *testing.T) {
	source, err := pinsFolder(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pins {
		mod, err := os.ReadFile(filepath.Join(source, p.name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for program, pkg := range p.packages {
			if !strings.Contains(string(mod), pkg+"\n") {
				t.Errorf("pins/%s/go.mod has no tool %s for %s", p.name, pkg, program)
			}
		}
		if version, err := requiredVersion(context.Background(), filepath.Join(source, p.name), p.module); err != nil || !strings.HasPrefix(version, "v") {
			t.Errorf("version of %s: %q, %v", p.name, version, err)
		}
	}
}

func ExampleProgram() {
	fmt.Println(All())
	// Output: [containerd containerd-shim-runc-v2 crictl ctr etcd kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet]
}
