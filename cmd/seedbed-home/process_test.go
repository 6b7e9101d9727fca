package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/realmode/daemon"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
)

func TestMain(m *testing.M) {
	os.Exit(daemontest.Main(m, func() int { return realMain(os.Args[1:], os.Stderr) }))
}

// TestDaemon is the life of an agent beside an API server of ours.
func TestDaemon(t *testing.T) {
	p := newPlace(t, newSimulated(t))
	d := p.livesUntilItsPodIsDeleted()
	// Its Pod is gone for good, and another has its name.
	p.delete(client.GracePeriodSeconds(0))
	p.eventually("a third epoch has begun", func() bool { return p.epoch() == "3\n" && d.Says(`reason="pod tenant/grant-0 gone"`) })
	p.stop(d)
}

// TestDaemonOnARealServer is its life beside a kube-apiserver, as its own account.
func TestDaemonOnARealServer(t *testing.T) {
	p := newPlace(t, newGenuine(t))
	d := p.livesUntilItsPodIsDeleted()
	// With the Pod its token is gone, though the server remembers for ten seconds that it
	// was good. So it may be answered that the Pod is gone; and then nothing about it.
	p.delete(client.GracePeriodSeconds(0))
	p.eventually("its token is refused", func() bool { return d.Metric(`seedbed_home_kube_requests_total{status="401",verb="get pod"}`) > 2 })
	p.eventually("it is not healthy", func() bool { return d.Metric("seedbed_home_healthy") == 0 })
	want := 2
	if d.Metric(`seedbed_home_kube_requests_total{status="404",verb="get pod"}`) > 0 {
		want = 3
	}
	if p.epoch() != fmt.Sprintln(want) || d.Says("gone") != (want == 3) {
		t.Errorf("epoch %s, want %d", p.epoch(), want)
	}
	p.stop(d)
}

// livesUntilItsPodIsDeleted lets an agent fetch, become ready, renew, and lose its scope
// when somebody deletes its Pod, which the kubelet is to end.
func (p *place) livesUntilItsPodIsDeleted() *daemontest.Process {
	p.Helper()
	d := p.start(p.args()...)
	p.eventually("the Pod's condition is True", func() bool { return p.condition().Status == corev1.ConditionTrue })
	if c := p.condition(); c.Reason != home.ReasonTemplateWarm {
		p.Errorf("condition %+v", c)
	}
	p.eventually("the grant is renewed twice", func() bool { return grantsAsked(p.issuer) >= 3 })
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n"} {
		if status, body := d.Get(path); status != 200 || body != want {
			p.Errorf("%s: %d %q", path, status, body)
		}
	}
	for name, want := range map[string]float64{
		"seedbed_home_healthy": 1, "seedbed_home_ready": 1, "seedbed_home_epoch": 1, "seedbed_home_grants_admitted": 1,
		"seedbed_home_scope_losses_total": 0, `seedbed_home_kube_requests_total{status="200",verb="patch pod status"}`: 1,
	} {
		if got := d.Metric(name); got != want {
			p.Errorf("the metric %s is %v, want %v", name, got, want)
		}
	}
	p.delete()
	p.eventually("a new epoch has begun", func() bool { return p.epoch() == "2\n" && d.Says(`reason="pod tenant/grant-0 terminating"`) })
	return d
}

func (p *place) delete(opts ...client.DeleteOption) {
	p.Helper()
	if err := p.Admin().Delete(p.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName}}, opts...); err != nil {
		p.Fatal(err)
	}
}

// epoch is what the agent has written down.
func (p *place) epoch() string {
	p.Helper()
	epoch, err := os.ReadFile(filepath.Join(p.stateDir, "epoch"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.Fatal(err)
	}
	return string(epoch)
}

// stop tells an agent to stop, and makes sure that it has told no secret.
func (p *place) stop(d *daemontest.Process) {
	p.Helper()
	_, metrics := d.Get("/metrics")
	d.Stop()
	token, err := os.ReadFile(filepath.Join(p.grantsDir, "grant.jwt"))
	if err != nil {
		p.Fatal(err)
	}
	for _, secret := range []string{p.bearer, string(token), strings.Split(string(token), ".")[2]} {
		if strings.Contains(d.Output()+metrics, secret) {
			p.Error("the log or the metrics show a token")
		}
	}
}

func grantsAsked(i *issuer.Issuer) int {
	n := 0
	for _, r := range i.Requests() {
		if strings.HasSuffix(r.URL, "/v1/grant") {
			n++
		}
	}
	return n
}

// TestDaemonWithoutAGrant does not start, and says why; probes are answered meanwhile.
func TestDaemonWithoutAGrant(t *testing.T) {
	p := newPlace(t, newSimulated(t))
	p.issuer.Behave(issuer.Behaviour{Status: 403, Times: issuer.Always})
	d := p.start(append(p.args(), "--grant-fetch-timeout", "2s")...)
	if status, _ := d.Get("/healthz"); status != 200 {
		t.Errorf("/healthz: %d", status)
	}
	if status, _ := d.Get("/readyz"); status != 503 {
		t.Errorf("/readyz: %d", status)
	}
	if code := d.Wait(); code != 1 || !d.Says("no grant for this Pod came within 2s") {
		t.Errorf("it ended with %d", code)
	}
}

// TestDaemonWithoutAnAPIServer starts and works all the same: what the API server says
// is not on the path that starts work.
func TestDaemonWithoutAnAPIServer(t *testing.T) {
	c := newSimulated(t)
	p := newPlace(t, c)
	c.down.Store(true)
	d := p.start(p.args()...)
	p.eventually("a template is warm", func() bool { status, _ := d.Get("/readyz"); return status == 200 })
	p.eventually("it is not healthy", func() bool { return d.Metric("seedbed_home_healthy") == 0 })
	if epoch := p.epoch(); epoch != "1\n" {
		t.Errorf("epoch %s", epoch)
	}
	c.down.Store(false)
	p.eventually("the Pod's condition is True", func() bool { return p.condition().Status == corev1.ConditionTrue })
	p.eventually("it is healthy", func() bool { return d.Metric("seedbed_home_healthy") == 1 })
	p.stop(d)
}

// TestDaemonIsNotFooled by what else is in its grants directory, which it reads on: another
// grant that comes and goes is admitted and revoked.
func TestDaemonIsNotFooled(t *testing.T) {
	p := newPlace(t, newSimulated(t))
	if err := os.MkdirAll(p.grantsDir, 0o700); err != nil {
		t.Fatal(err)
	}
	const junk = "junk-that-nobody-should-repeat"
	in := func(name string) string { return filepath.Join(p.grantsDir, name) }
	p.write(in("big.jwt"), []byte(strings.Repeat(junk, 10_000)))
	p.write(in("half.jwt"), []byte("head."+junk))
	p.write(in("notes.txt"), []byte(junk))
	for _, err := range []error{
		syscall.Mkfifo(in("fifo.jwt"), 0o600), os.Symlink("nowhere", in("dangling.jwt")), os.Mkdir(in("folder.jwt"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d := p.start(p.args()...)
	p.eventually("the Pod's condition is True", func() bool { return p.condition().Status == corev1.ConditionTrue })
	extra, err := p.issuer.Issue(issuer.Pod{Name: podName, UID: "extra"})
	if err != nil {
		t.Fatal(err)
	}
	// As a projected volume has it: a link into a directory that is swapped.
	if err := os.Mkdir(in("..1"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(in("..1/extra"), []byte(extra))
	if err := os.Symlink("..1/extra", in("extra.jwt")); err != nil {
		t.Fatal(err)
	}
	p.eventually("two grants are admitted", func() bool { return d.Metric("seedbed_home_grants_admitted") == 2 })
	if err := os.Remove(in("extra.jwt")); err != nil {
		t.Fatal(err)
	}
	p.eventually("one grant is admitted", func() bool { return d.Metric("seedbed_home_grants_admitted") == 1 })
	if c := p.condition(); c.Status != corev1.ConditionTrue || p.epoch() != "1\n" {
		t.Errorf("condition %+v, epoch %s", c, p.epoch())
	}
	if d.Says(junk) || d.Says(extra) {
		t.Error("the log shows what is in a file")
	}
	p.stop(d)
}

// TestDaemonIsStoppedWhileItStarts: that is no failure.
func TestDaemonIsStoppedWhileItStarts(t *testing.T) {
	p := newPlace(t, newSimulated(t))
	p.issuer.Behave(issuer.Behaviour{Status: 503, Times: issuer.Always})
	d := p.start(p.args()...)
	p.eventually("it has tried to fetch", func() bool { return d.Says("Cannot fetch the grant yet") })
	d.Stop()
	if !d.Says("Has stopped, as it was told to") {
		t.Error("it does not say that it has stopped")
	}
}

// TestTemplatesAreBuiltByAProgram which is told what to build, and whose failure keeps
// the Pod from becoming ready.
func TestTemplatesAreBuiltByAProgram(t *testing.T) {
	p := newPlace(t, newSimulated(t))
	built, program := filepath.Join(p.dir, "built"), filepath.Join(p.dir, "build")
	script := "#!/bin/sh\ntest -e " + p.dir + "/material || { echo no material; exit 3; }\necho \"$@\" >" + built + "\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	d := p.start(append(p.args(), "--warm-command", program, "--device", "/dev/gpu0")...)
	p.eventually("the program has failed", func() bool { return d.Says("exit status 3: no material") })
	if c := p.condition(); c.Status == corev1.ConditionTrue {
		t.Errorf("condition %+v", c)
	}
	p.write(filepath.Join(p.dir, "material"), nil)
	p.eventually("the Pod's condition is True", func() bool { return p.condition().Status == corev1.ConditionTrue })
	if said, err := os.ReadFile(built); err != nil || string(said) != p.uid+" sha256:0123456789abcdef /dev/gpu0\n" {
		t.Errorf("the program was called with %q, error %v", said, err)
	}
	p.stop(d)
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	cmd := command(&out)
	cmd.SetOut(&out)
	if code := daemon.Main(cmd, []string{"--version"}, &out); code != 0 || !strings.HasPrefix(out.String(), "seedbed-home ") || !strings.Contains(out.String(), "\ngo1.") {
		t.Errorf("exit code %d, said %q", code, out.String())
	}
}

func TestBadFlags(t *testing.T) {
	const place = "--state-dir s --pod-name p --pod-namespace n --pod-uid u --grants-dir g --grant-token-file t --grant-issuer-url https://c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig("https://127.0.0.1:1", nil, ""), file); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args string
		want string
	}{
		{"an argument", "now", `unexpected argument "now"`},
		{"an unknown flag", "--pod nothing", "unknown flag: --pod"},
		{"no state", "--pod-name p", "--state-dir is missing: set it to"},
		{"no Pod", "--state-dir s --pod-name= --pod-namespace n --pod-uid u", "--pod-name is empty: set it to the name of this Pod"},
		{"no UID", "--state-dir s --pod-name p --pod-namespace n --pod-uid=", "--pod-uid is empty"},
		{"a poll that is too long", "--state-dir s --pod-name p --pod-namespace n --pod-uid u --poll 30s", "--poll is 30s and the --stale-ttl 30s"},
		{"grants that nobody can verify", "--state-dir s --grants-dir g", "--grant-issuer-url is missing"},
		{"plain http", "--state-dir s --pod-name p --pod-namespace n --pod-uid u --grants-dir g --grant-token-file t --grant-issuer-url http://c", `--grant-issuer-url has the scheme "http"`},
		{"a program that is not there", "--state-dir s --pod-name p --pod-namespace n --pod-uid u --warm-command /nowhere/build", "--warm-command: "},
		{"certificates that are not there", place + " --grant-ca-file /nowhere.pem --kubeconfig KUBECONFIG", "--grant-ca-file: open /nowhere.pem: no such file"},
		{"certificates that are none", place + " --grant-ca-file KUBECONFIG --kubeconfig KUBECONFIG", "there is no certificate in it"},
		{"an address that is none", place + " --listen nowhere --kubeconfig KUBECONFIG", "--listen: listen tcp: address nowhere: missing port"},
		{"another format", "--log-format xml", `--log-format is "xml": set it to text or json`},
		{"no cluster", "--state-dir s --pod-name p --pod-namespace n --pod-uid u", "this is no Pod, so set --kubeconfig"},
		{"a kubeconfig that is not there", "--state-dir s --pod-name p --pod-namespace n --pod-uid u --kubeconfig /nowhere", "--kubeconfig /nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			if code := realMain(strings.Fields(strings.ReplaceAll(c.args, "KUBECONFIG", file)), &log); code != 2 || !strings.Contains(log.String(), c.want) || !strings.Contains(log.String(), "--help tells") {
				t.Errorf("exit code %d, said %q, want it to say %q", code, log.String(), c.want)
			}
		})
	}
}
