package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/realmode/testenv"
	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// TestKubectl runs one session with an unmodified kubectl against seedbed serve and
// against a real kube-apiserver. Both print the same, but for ages, names of hosts and
// files, and what apart lists.
func TestKubectl(t *testing.T) {
	if os.Getenv("SEEDBED_TEST_KUBECTL") == "" {
		t.Skip("needs a real kube-apiserver, which make test-kubectl builds and starts (SEEDBED_TEST_KUBECTL is not set)")
	}
	authentic, err := testenv.Start(t.Context(), testenv.Options{Flags: []string{"--service-cluster-ip-range=10.0.0.0/16"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := authentic.Stop(); err != nil {
			t.Error(err)
		}
	})
	program, err := authentic.Program(binaries.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	fake := serving(t, "--bare", "--nodes", "0")
	text, err := os.ReadFile("testdata/kubectl/session.txt")
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := kubectl{program, authentic.Kubeconfig(), t.TempDir()}, kubectl{program, fake.kubeconfig, t.TempDir()}
	steps, same := 0, 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		steps++
		want, got := theirs.run(t, line), ours.run(t, line)
		switch reason, excused := apart[line]; {
		case want == got:
			same++
			if excused {
				t.Errorf("kubectl %s: prints the same, although it is listed as apart: %s", line, reason)
			}
		case !excused:
			t.Errorf("kubectl %s (-real +ours):\n%s", line, cmp.Diff(want, got))
		}
	}
	t.Logf("%d of %d commands print the same", same, steps)
}

// kubectl is the program with a cluster to talk to.
type kubectl struct{ program, kubeconfig, home string }

// run runs a command line of the session and returns what it prints, without what
// differs from run to run, and its exit code.
func (k kubectl) run(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.program, strings.Fields(line)...)
	editor, err := filepath.Abs("testdata/kubectl/editor")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = "testdata/kubectl"
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "HOME="+k.home, "KUBE_EDITOR="+editor)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	return settle(out.String()) + cmd.ProcessState.String()
}

// settle replaces what differs from run to run.
func settle(text string) string {
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return text
}

var volatile = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d{4}|Z)`), "TIME"},
	{regexp.MustCompile(`\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`("?resourceVersion"?: ?)"\d+"`), `${1}"N"`},
	{regexp.MustCompile(`(Resource Version: +)\d+`), `${1}N`},
	{regexp.MustCompile(`\b(\d+[smh]){1,2}\b`), "AGE"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
	{regexp.MustCompile(`/\S*/(LIVE|MERGED)-\d+`), "DIR"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
	{regexp.MustCompile(`  +`), "  "}, // columns are as wide as the widest age
}

// apart are the commands whose output differs, and why that is accepted.
var apart = map[string]string{
	"version -o yaml": "the commit and the compiler of the server are its own",
	"api-versions":    "groups that the fake does not serve",
	"api-resources":   "kinds that the fake does not serve",
	"api-resources --namespaced=false -o name": "kinds that the fake does not serve",
	"auth whoami": "the administrator has another name",
	"create token robot -n shop --duration=10m": "a token is another each time",
}
