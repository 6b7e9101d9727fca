package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
	"github.com/seedbed-sim/seedbed/realmode/kms"
	"github.com/seedbed-sim/seedbed/realmode/kms/localkey"
)

func TestMain(m *testing.M) {
	os.Exit(daemontest.Main(m, func() int { return realMain(os.Args[1:], os.Stderr) }))
}

// place is an API server with the Pod default/check, and room for plugins.
type place struct {
	*testing.T
	dir, kubeconfig string
	admin           client.Client
	down            atomic.Int32 // requests that are to fail
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir()}
	handler := rest.New(apiserver.New(apiserver.Options{Clock: clock.New()}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.down.Add(-1) >= 0 {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var err error
	if p.admin, err = client.New(handler.Config(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "check"},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := p.admin.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	if err := p.admin.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	cfg.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	cfg.CurrentContext = "c"
	p.kubeconfig = filepath.Join(p.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

// plugin starts a plugin of ours, and returns its socket and the id of its key.
func (p *place) plugin(name string) (socket, keyID string) {
	p.Helper()
	file := filepath.Join(p.dir, name+".json")
	if _, err := (&localkey.Changer{Now: time.Now, Entropy: rand.Reader}).Init(file); err != nil {
		p.Fatal(err)
	}
	server, err := kms.Start(p.Context(), kms.Config{
		Path: filepath.Join(p.dir, "run", name+".sock"), Provider: localkey.New(file), Clock: clock.New(), Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	p.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			p.Error(err)
		}
	})
	return "unix://" + filepath.Join(p.dir, "run", name+".sock"), server.KeyID()
}

func (p *place) args(sockets ...string) []string {
	return []string{
		"--kubeconfig", p.kubeconfig, "--pod-name", "check", "--pod-namespace", "default", "--config-hash", "h.1", "--kms-sockets", strings.Join(sockets, ","), "--kms-call-timeout", "1s",
	}
}

// conditions are those of the Pod.
func (p *place) conditions() map[string]string {
	p.Helper()
	pod := &corev1.Pod{}
	if err := p.admin.Get(p.Context(), client.ObjectKey{Namespace: "default", Name: "check"}, pod); err != nil {
		p.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range pod.Status.Conditions {
		got[string(c.Type)] = strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)), " ")
	}
	return got
}

// TestAGoodPlugin beside another, and an API server that is away for a moment.
func TestAGoodPlugin(t *testing.T) {
	p := newPlace(t)
	socket, keyID := p.plugin("kms-2")
	other, _ := p.plugin("kms-1")
	p.down.Store(2)
	code, out := daemontest.Run(t, p.args(socket, other)...)
	if code != 0 || !strings.Contains(out, "The plugin is good") || !strings.Contains(out, "Cannot report yet") {
		t.Errorf("exit code %d, said %s", code, out)
	}
	want := map[string]string{"Ready": "False", "KMSPreflightConfigHash": "True h.1", "KMSPreflightResult": "True Succeeded", "KMSPreflightKekID": "True " + keyID}
	if d := cmp.Diff(want, p.conditions()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestNoPlugin: it is said at once what is tried, and in the end that nobody is there.
func TestNoPlugin(t *testing.T) {
	p := newPlace(t)
	d := daemontest.Start(t, p.args("unix://"+filepath.Join(p.dir, "none.sock"))...)
	daemontest.Eventually(t, "it says what it tries", func() bool { return p.conditions()["KMSPreflightConfigHash"] == "True h.1" })
	if r := p.conditions()["KMSPreflightResult"]; r != "" {
		t.Errorf("the result is there before the end: %s", r)
	}
	if code := d.Wait(); code != 1 || !d.Says("failed the check: ask for the status: rpc error") {
		t.Errorf("exit code %d", code)
	}
	if r := p.conditions()["KMSPreflightResult"]; !strings.HasPrefix(r, "False Failed ask for the status: rpc error: code = DeadlineExceeded") {
		t.Errorf("result %s", r)
	}
}

// TestThePodIsGone: what cannot be reported is a failure.
func TestThePodIsGone(t *testing.T) {
	p := newPlace(t)
	socket, _ := p.plugin("kms-1")
	code, out := daemontest.Run(t, append(p.args(socket), "--pod-name", "other", "--report-timeout", "1500ms")...)
	if code != 1 || !strings.Contains(out, "seedbed-preflight: report: report in the status of Pod default/other: ") {
		t.Errorf("exit code %d, said %s", code, out)
	}
}

func TestRefusals(t *testing.T) {
	const pod = " --pod-name p --pod-namespace n --config-hash h"
	for _, c := range []struct{ name, args, want string }{
		{"an argument", "now", `unexpected argument "now"`},
		{"an unknown flag", "--socket x", "unknown flag: --socket"},
		{"no sockets", pod, "--kms-sockets is missing: set it to the socket of the plugin"},
		{"a socket of the network", "--kms-sockets tcp://1.2.3.4:5" + pod, "is no socket of an absolute path"},
		{"one socket twice", "--kms-sockets unix:///a,unix:///a" + pod, "--kms-sockets names unix:///a twice"},
		{"no hash", "--kms-sockets unix:///a --pod-name p --pod-namespace n", "--config-hash is missing"},
		{"no Pod", "--kms-sockets unix:///a --config-hash h --pod-namespace n --pod-name=", `--pod-name is "": set it to the name of this Pod`},
		{"no namespace", "--kms-sockets unix:///a --config-hash h --pod-name p --pod-namespace N", `--pod-namespace is "N"`},
		{"no time", "--kms-sockets unix:///a --kms-call-timeout 0s" + pod, "have to be more than nothing"},
		{"another format", "--log-format xml", `--log-format is "xml"`},
		{"no cluster", "--kms-sockets unix:///a" + pod, "this is no Pod, so set --kubeconfig"},
		{"no kubeconfig", "--kms-sockets unix:///a --kubeconfig /nowhere" + pod, "--kubeconfig /nowhere: "},
		{"no config", "--config /nowhere", "--config: open /nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out := daemontest.Run(t, strings.Fields(c.args)...)
			if code != 2 || !strings.Contains(out, "seedbed-preflight: ") || !strings.Contains(out, c.want) || strings.Count(out, "\n") != 2 {
				t.Errorf("exit code %d, said %q, want it to say %q", code, out, c.want)
			}
		})
	}
}
