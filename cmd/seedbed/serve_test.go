package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/seedbed-sim/seedbed/scenarios/serve"
)

// served is a running seedbed serve.
type served struct {
	t          *testing.T
	kubeconfig string
	stop       context.CancelFunc
	result     chan result
}

// serving starts seedbed serve and returns once its kubeconfig is there.
func serving(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), result: make(chan result, 1)}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	t.Cleanup(stop)
	up := make(chan struct{})
	go func() {
		s.result <- seedbedUp(ctx, func() { close(up) }, append([]string{"serve", "--kubeconfig", s.kubeconfig}, args...)...)
	}()
	select {
	case <-up:
	case r := <-s.result:
		t.Fatalf("seedbed serve ended with %d\n%s%s", r.code, r.out, r.err)
	}
	return s
}

// ctl calls seedbed ctl.
func (s *served) ctl(args ...string) result {
	s.t.Helper()
	return seedbed(s.t, append([]string{"ctl", "--kubeconfig", s.kubeconfig}, args...)...)
}

// end stops the server and returns what it has said.
func (s *served) end() result {
	s.stop()
	return <-s.result
}

// config is what a client makes of the kubeconfig.
func (s *served) config() *restclient.Config {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	return config
}

func (s *served) client() *kubernetes.Clientset {
	s.t.Helper()
	client, err := kubernetes.NewForConfig(s.config())
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

func (s *served) createPod(name string) {
	s.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := s.client().CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// A session: time stands still, a client makes a Pod, a step lets it run, and the
// journal makes the same run again.
func TestServeStepAndReplay(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "session.jsonl")
	s := serving(t, "--paused", "--journal", journal)
	info, err := os.Stat(s.kubeconfig)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig has mode %v, %v", info.Mode(), err)
	}
	s.createPod("web")
	s.ctl("status").wants(t, exitOK, "cluster   an empty cluster, 3 nodes, seed 0\n", "0s after the start; paused (speed real)\n", "0 faults on, 0 properties broken\n")
	s.ctl("step", "30s").wants(t, exitOK, "30s after the start; paused")
	pod, err := s.client().CoreV1().Pods("default").Get(context.Background(), "web", metav1.GetOptions{})
	if err != nil || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("after 30 s the pod is %v, %v", pod.Status.Phase, err)
	}
	s.ctl("trace", "--limit", "1000").wants(t, exitOK, `"kind":"input","actor":"outside/seedbed.test","verb":"create","object":"pods/default"`,
		`"detail":"create pods/default/web -\u003e ok"`)
	got := s.end()
	got.wants(t, exitOK, "a simulated cluster is up at https://127.0.0.1:", "stopped after 30s of virtual time in ", "  seedbed replay "+journal)
	hash := regexp.MustCompile("hash [0-9a-f]{16}").FindString(got.out)
	seedbed(t, "replay", journal).wants(t, exitOK, "the live run of seed 0, 30s of virtual time: ", hash)
}

func TestServeFaults(t *testing.T) {
	s := serving(t, "--paused")
	s.ctl("faults").wants(t, exitOK, "no fault is switched on\n")
	s.ctl("inject", "api-error-500", "rate=100%", "target=outside/seedbed.test", "verb=create").wants(t, exitOK,
		"  0  api-error-500 target=outside/seedbed.test rate=100% verb=create, struck 0 times\n")
	_, err := s.client().CoreV1().Namespaces().Create(context.Background(), &corev1.Namespace{}, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "etcdserver: request timed out") {
		t.Errorf("a struck request: %v", err)
	}
	s.ctl("faults").wants(t, exitOK, "struck 1 time\n")
	s.ctl("inject", "node-crash", "every=10s").wants(t, exitOK, "  1  node-crash rate=5%, struck 0 times\n")
	s.ctl("clear", "0").wants(t, exitOK, "1 fault switched off\n")
	s.ctl("clear", "all").wants(t, exitOK, "1 fault switched off\n")
	for _, test := range []struct{ args, want string }{
		{"inject earthquake", `seedbed: unknown fault "earthquake"; allowed are api-error-409, `},
		{"inject node-crsh", `seedbed: unknown fault "node-crsh"; did you mean "node-crash"?`},
		{"inject node-crash evry=1s", `seedbed: node-crash.evry: the fault node-crash has no knob "evry"; did you mean "every"?`},
		{"inject node-crash target=node-7", `seedbed: node-crash.target: "node-7" matches no node, which is what this fault strikes; did you mean`},
		{"inject node-crash often", `seedbed: "often" is not a knob of a fault; write it as KNOB=VALUE, such as rate=50%`},
		{"inject", "seedbed: seedbed ctl inject takes the name of a fault; seedbed list faults shows them"},
		{"clear", "seedbed: seedbed ctl clear takes numbers of faults, or all; seedbed ctl faults shows them"},
		{"clear 7", "seedbed: no fault 7 is switched on; GET faults lists them"},
		{"clear x", `seedbed: "x" is not the number of a fault; write one that seedbed ctl faults shows, or all`},
		{"step soon", `seedbed: "soon" is not a time to step by; write one such as 10s, 1m30s or 24h`},
		{"step", `seedbed: seedbed ctl step takes the time to let pass, such as 30s; 0 were given`},
		{"step 1000000h", `seedbed: by: a step is at most ten years`},
		{"speed fast", `seedbed: "fast" is not a speed; write real, max, or how many times as fast as real time, such as 10 or 0.5`},
		{"pause now", `seedbed: seedbed ctl pause takes no arguments; leave out "now"`},
		{"stop", `seedbed: "stop" is not a command of seedbed ctl; did you mean "step"?`},
	} {
		got := s.ctl(strings.Fields(test.args)...)
		if got.code != exitBadInput || !strings.HasPrefix(got.err, test.want) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("ctl %s: exit code %d\ngot  %swant %s", test.args, got.code, got.err, test.want)
		}
	}
	s.ctl("speed", "max").wants(t, exitOK, "paused (speed max)")
	s.ctl("resume").wants(t, exitOK, "; speed max\n")
	s.end().wants(t, exitOK)
}

// A scenario lives in the served cluster, and a property that breaks is told and ends
// nothing.
func TestServeAScenario(t *testing.T) {
	s := serving(t, "testdata/orphan.yaml", "--paused", "--seed", "1")
	s.ctl("step", "10m").wants(t, exitOK, "cluster   scenario orphan, 3 nodes, seed 1\n", "10m0s after the start", "1 property broken\n")
	s.ctl("properties").wants(t, exitOK, "broken  mirror.no-orphans\n", "holds   mirror.copies-equal-originals\n", "at-end  story-completes\n")
	s.createPod("web")
	s.end().wants(t, exitViolated, "property broken: mirror.no-orphans, at ")
}

// The roles of every real cluster are there: who is known may ask what he may do.
func TestServeDefaultRoles(t *testing.T) {
	s := serving(t, "--bare", "--nodes", "0")
	robot := s.config()
	robot.Impersonate.UserName = "system:serviceaccount:default:robot"
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "list", Resource: "pods"},
	}}
	got, err := kubernetes.NewForConfigOrDie(robot).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || got.Status.Allowed {
		t.Errorf("a robot may list pods: %v, %v", got.Status.Allowed, err)
	}
	if _, err := s.client().RbacV1().ClusterRoles().Get(t.Context(), "cluster-admin", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestServeMistakes(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(foreign, []byte("apiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--speed", "fast"}, `seedbed: --speed: "fast" is not a speed; write real, max, or how many times as fast as real time, such as 10 or 0.5`},
		{[]string{"serve", "--nodes", "-1"}, `seedbed: --nodes -1: write how many nodes there are, from 0 to 5000`},
		{[]string{"serve", "--pods", "200000"}, `seedbed: --pods 200000: write how many pods there are, from 0 to 100000`},
		{[]string{"serve", "--listen", "6443"}, `seedbed: --listen "6443": write an address and a port, such as 127.0.0.1:6443`},
		{[]string{"serve", "holds", "orphan"}, `seedbed: seedbed serve takes one scenario; 2 were given`},
		{[]string{"serve", "holds", "--nodes", "3"}, `seedbed: --nodes is for an empty cluster; the scenario says how many nodes it has`},
		{[]string{"serve", "hlds"}, `seedbed: "hlds" is neither a file nor a built-in scenario; did you mean "holds"?`},
		{[]string{"serve", "--kubeconfig", foreign}, `seedbed: --kubeconfig ` + foreign + `: the file exists and was not written by seedbed serve; name another, or write --force to overwrite it`},
		{[]string{"serve", "--kubeconfig", filepath.Dir(foreign)}, `seedbed: --kubeconfig: read ` + filepath.Dir(foreign) + `: is a directory`},
		{[]string{"serve", "--journal", "nowhere/j"}, `seedbed: --journal: open nowhere/j: no such file or directory`},
		{[]string{"ctl"}, `seedbed: say what to do: seedbed ctl status|pause|resume|step|speed|faults|inject|clear|trace|properties`},
		{[]string{"ctl", "status", "--kubeconfig", foreign}, `seedbed: ` + foreign + ` names no cluster`},
		{[]string{"ctl", "step", "-5s"}, `seedbed: seedbed ctl step has no flag -5. The flags are --help, --kubeconfig.`},
		{[]string{"ctl", "status", "--kubeconfig", "nowhere"}, `seedbed: nowhere does not exist; start a cluster with seedbed serve, or name the kubeconfig that it wrote with --kubeconfig`},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := seedbed(t, test.args...)
			if got.code != exitBadInput || got.out != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.out)
			}
			if diff := cmp.Diff(test.want+"\n", got.err); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A kubeconfig is not taken away from those who use it.
func TestServeKeepsTheKubeconfigOfARunningCluster(t *testing.T) {
	s := serving(t, "--bare", "--nodes", "0")
	want := "seedbed: --kubeconfig " + s.kubeconfig + ": its cluster is still served; name another, or write --force to overwrite it\n"
	if got := seedbed(t, "serve", "--kubeconfig", s.kubeconfig); got.code != exitBadInput || got.err != want {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	t.Setenv("KUBECONFIG", "nowhere"+string(filepath.ListSeparator)+s.kubeconfig)
	seedbed(t, "ctl", "status").wants(t, exitOK, "cluster   an empty cluster, 0 nodes, seed 0\n")

	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts["seedbed"].Namespace = "shop"
	if err := clientcmd.WriteToFile(*config, s.kubeconfig); err != nil { // as kubectl config does
		t.Fatal(err)
	}
	s.end()
	if err := serve.CheckKubeconfig(t.Context(), s.kubeconfig); err != nil {
		t.Errorf("the kubeconfig of a cluster that has ended: %v", err)
	}
}

func TestCtlWithoutACluster(t *testing.T) {
	s := serving(t)
	s.end()
	got := s.ctl("status")
	if got.code != exitBadInput || !strings.Contains(got.err, " does not answer: dial tcp 127.0.0.1:") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
}
