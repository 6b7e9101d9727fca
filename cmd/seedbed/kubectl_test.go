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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/realmode/testenv"
	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// TestKubectl runs one session with an unmodified kubectl against seedbed serve and
// against a real kube-apiserver. Both print the same, but for what differs from run to
// run, kinds that the fake does not serve, and what apart lists.
func TestKubectl(t *testing.T) {
	if os.Getenv("SEEDBED_TEST_REAL") == "" {
		t.Skip("needs a real kube-apiserver, which make test-real builds and starts (SEEDBED_TEST_REAL is not set)")
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
		want, got := both(t, &theirs, &ours, line)
		for tries := 0; want != got && apart[line] == "" && reads(line) && tries < patience; tries++ {
			time.Sleep(time.Second)
			want, got = both(t, &theirs, &ours, line)
		}
		switch reason, excused := apart[line]; {
		case want == got:
			same++
			if excused {
				t.Errorf("kubectl %s: prints the same, although it is listed as apart: %s", line, reason)
			}
		case repaired.MatchString(want):
			t.Logf("kubectl %s shows that the real server has repaired an address", line)
		case !excused:
			t.Errorf("kubectl %s (-real +ours):\n%s", line, cmp.Diff(want, got))
		}
	}
	t.Logf("%d of %d commands print the same", same, steps)
}

// patience is how many seconds a real server is given until it shows what was
// written: the discovery and the schema of a definition come some while after it.
const patience = 10

// reads reports whether a command line changes nothing, so that it may be run again.
func reads(line string) bool {
	verb, _, _ := strings.Cut(line, " ")
	switch verb {
	case "explain", "get", "describe", "api-resources", "api-versions", "events":
		return true
	default:
		return false
	}
}

// kubectl is the program with a cluster to talk to.
type kubectl struct{ program, kubeconfig, home string }

// both runs a command line of the session against two clusters at once: most of the
// time is what kubectl takes to start.
func both(t *testing.T, theirs, ours *kubectl, line string) (want, got string) {
	t.Helper()
	var wantErr, gotErr error
	var runs sync.WaitGroup
	runs.Go(func() { want, wantErr = theirs.run(t.Context(), line) })
	runs.Go(func() { got, gotErr = ours.run(t.Context(), line) })
	runs.Wait()
	if err := errors.Join(wantErr, gotErr); err != nil {
		t.Fatalf("kubectl %s: %v", line, err)
	}
	return want, got
}

// run runs a command line and returns what it prints, without what differs from run to
// run, and its exit code.
func (k *kubectl) run(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.program, strings.Fields(line)...)
	editor, err := filepath.Abs("testdata/kubectl/editor")
	if err != nil {
		return "", err
	}
	cmd.Dir = "testdata/kubectl"
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "HOME="+k.home, "KUBE_EDITOR="+editor)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var status *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &status) {
		return "", err
	}
	return settle(out.String()) + cmd.ProcessState.String(), nil
}

// settle replaces what differs from run to run.
func settle(text string) string {
	text = unserved.ReplaceAllString(text, "")
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return text
}

// unserved are the lines about groups and kinds that the fake does not serve.
var unserved = regexp.MustCompile(`(?m)^(` + strings.Join([]string{
	"apiregistration", "apiservices",
	"clustertrustbundles", "podcertificaterequests",
	"flowcontrol", "flowschemas", "prioritylevelconfigurations",
	"ipaddresses", "servicecidrs",
	"mutatingadmissionpolic", "devicetaintrules",
	"storagemigration", "storageversionmigrations",
}, "|") + `)[a-z]*[ ./].*\n`)

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
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), "TOKEN"},
	{regexp.MustCompile(`\b10\.0(\.\d+){2}\b`), "CLUSTER-IP"}, // given at random
	{regexp.MustCompile(`(gitCommit|goVersion): .*`), "$1: OF THE BUILD"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
	{regexp.MustCompile(`  +`), "  "}, // columns are as wide as the widest age
}

// repaired is what an event says if the real server has looked after the addresses of
// Services, which it does every few minutes, just when one was being made. Ours has
// nothing to repair.
var repaired = regexp.MustCompile(`ClusterIPNotAllocated.* is not allocated; repairing`)

// apart are the commands whose output differs, and why that is accepted.
var apart = map[string]string{
	"auth whoami": "the administrators of the two have different names",
}
