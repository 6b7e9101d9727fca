package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/realmode/clock"
)

// asDaemon makes the test binary be the daemon.
const asDaemon = "SEEDBED_HOME_IS_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		os.Exit(realMain(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

const (
	bearer = "the-pods-bound-token"
	lease  = 3 * time.Second
)

// place is a cluster and a controller, both behind real TLS, and files.
type place struct {
	*testing.T
	admin      client.Client
	issuer     *issuer.Issuer
	issuerURL  string
	uid        string
	kubeconfig string
	caFile     string
	tokenFile  string
	grantsDir  string
	stateDir   string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t}
	dir := t.TempDir()
	p.tokenFile, p.caFile, p.kubeconfig = filepath.Join(dir, "token"), filepath.Join(dir, "ca.pem"), filepath.Join(dir, "kubeconfig")
	p.grantsDir, p.stateDir = filepath.Join(dir, "grants"), filepath.Join(dir, "state")

	handler := rest.New(apiserver.New(apiserver.Options{Clock: clock.New()}))
	cluster := httptest.NewTLSServer(handler)
	t.Cleanup(cluster.Close)
	admin, err := client.New(handler.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.admin = admin
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "grant-0"},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: "default",
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: home.PodConditionZygoteReady}},
			Containers:     []corev1.Container{{Name: "fiberd", Image: "fiberd"}},
		},
	}
	if err := admin.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	p.uid = string(pod.UID)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: cluster.URL, CertificateAuthorityData: pemOf(cluster)}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.AuthInfos["u"] = clientcmdapi.NewAuthInfo()
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		t.Fatal(err)
	}

	mux := http.NewServeMux()
	controller := httptest.NewTLSServer(mux)
	t.Cleanup(controller.Close)
	p.issuerURL = controller.URL
	p.issuer = issuer.New(issuer.Config{URL: controller.URL, Clock: clock.New(), Lease: lease})
	p.issuer.Trust(bearer, issuer.Pod{Name: "grant-0", UID: p.uid})
	mux.Handle("/", p.issuer.Handler(controller.URL))
	for name, content := range map[string][]byte{p.tokenFile: []byte(bearer), p.caFile: pemOf(controller)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// args are the flags of a daemon that works.
func (p *place) args() []string {
	return []string{
		"--kubeconfig", p.kubeconfig, "--pod-name", "grant-0", "--pod-namespace", "default", "--pod-uid", p.uid,
		"--stale-ttl", "1s", "--poll", "200ms", "--grants-poll", "100ms", "--grants-dir", p.grantsDir, "--state-dir", p.stateDir,
		"--grant-token-file", p.tokenFile, "--grant-issuer-url", p.issuerURL, "--grant-ca-file", p.caFile, "--listen", "127.0.0.1:0",
	}
}

// daemon is a process.
type daemon struct {
	cmd *exec.Cmd
	log safeBuffer
}

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (p *place) start(args ...string) *daemon {
	p.Helper()
	exe, err := os.Executable()
	if err != nil {
		p.Fatal(err)
	}
	d := &daemon{cmd: exec.Command(exe, args...)}
	d.cmd.Env = append(os.Environ(), asDaemon+"=1")
	d.cmd.Stderr = &d.log
	if err := d.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		_ = d.cmd.Wait()
		if p.Failed() {
			p.Logf("the daemon said:\n%s", d.log.String())
		}
	})
	return d
}

// eventually waits until something is so.
func (p *place) eventually(what string, is func() bool) {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("it has not come to this: %s", what)
		}
	}
}

func (p *place) condition() corev1.PodCondition {
	pod := &corev1.Pod{}
	if err := p.admin.Get(p.Context(), client.ObjectKey{Namespace: "default", Name: "grant-0"}, pod); err != nil {
		p.Fatal(err)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == home.PodConditionZygoteReady {
			return c
		}
	}
	return corev1.PodCondition{}
}

// get asks an endpoint of the daemon.
func (p *place) get(d *daemon, path string) (int, string) {
	p.Helper()
	var address string
	p.eventually("the daemon serves its endpoints", func() bool {
		_, rest, ok := strings.Cut(d.log.String(), "address=")
		address, _, _ = strings.Cut(rest, "\n")
		return ok
	})
	resp, err := http.Get("http://" + address + path)
	if err != nil {
		p.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		p.Error(err)
	}
	if err != nil {
		p.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestDaemon is the life of an agent: it fetches, becomes ready, renews, loses its scope
// when its Pod is deleted, and stops when it is told to.
func TestDaemon(t *testing.T) {
	p := newPlace(t)
	d := p.start(p.args()...)
	p.eventually("the Pod's condition is True", func() bool { return p.condition().Status == corev1.ConditionTrue })
	if c := p.condition(); c.Reason != home.ReasonTemplateWarm {
		t.Errorf("condition %+v", c)
	}
	p.eventually("the grant is renewed twice", func() bool { return grantsAsked(p.issuer) >= 3 })
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n"} {
		if status, body := p.get(d, path); status != 200 || body != want {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	_, metrics := p.get(d, "/metrics")
	for _, line := range []string{
		"seedbed_home_healthy 1", "seedbed_home_ready 1", "seedbed_home_epoch 1", "seedbed_home_grants_admitted 1",
		"seedbed_home_scope_losses_total 0", `seedbed_home_kube_requests_total{status="200",verb="patch pod status"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics do not say %q", line)
		}
	}
	if err := p.admin.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "grant-0"}}); err != nil {
		t.Fatal(err)
	}
	p.eventually("a new epoch has begun", func() bool {
		epoch, err := os.ReadFile(filepath.Join(p.stateDir, "epoch"))
		return err == nil && string(epoch) == "2\n" && strings.Contains(d.log.String(), `reason="pod default/grant-0 terminating"`)
	})
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	grantToken, err := os.ReadFile(filepath.Join(p.grantsDir, "grant.jwt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{bearer, string(grantToken), strings.Split(string(grantToken), ".")[2]} {
		if strings.Contains(d.log.String()+metrics, secret) {
			t.Error("the log or the metrics show a token")
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
	p := newPlace(t)
	p.issuer.Behave(issuer.Behaviour{Status: 403, Times: issuer.Always})
	d := p.start(append(p.args(), "--grant-fetch-timeout", "2s")...)
	if status, _ := p.get(d, "/healthz"); status != 200 {
		t.Errorf("/healthz: %d", status)
	}
	if status, _ := p.get(d, "/readyz"); status != 503 {
		t.Errorf("/readyz: %d", status)
	}
	err := d.cmd.Wait()
	if code := d.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(d.log.String(), "no grant for this Pod came within 2s") {
		t.Errorf("it ended with %v", err)
	}
}

func TestBadFlags(t *testing.T) {
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
		{"another format", "--log-format xml", `--log-format is "xml": set it to text or json`},
		{"no cluster", "--state-dir s --pod-name p --pod-namespace n --pod-uid u", "this is no Pod, so set --kubeconfig"},
		{"a kubeconfig that is not there", "--state-dir s --pod-name p --pod-namespace n --pod-uid u --kubeconfig /nowhere", "--kubeconfig /nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log safeBuffer
			if code := realMain(strings.Fields(c.args), &log); code != 2 || !strings.Contains(log.String(), c.want) {
				t.Errorf("exit code %d, said %q, want it to say %q", code, log.String(), c.want)
			}
		})
	}
}
