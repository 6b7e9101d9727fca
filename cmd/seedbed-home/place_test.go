package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
)

const (
	namespace = "tenant"
	podName   = "grant-0"
	lease     = 3 * time.Second
)

// place is a cluster and a controller, both behind real TLS, and files.
type place struct {
	*testing.T
	cluster
	uid        string
	dir        string
	kubeconfig string
	bearer     string // what is in tokenFile

	controller *httptest.Server
	issuer     *issuer.Issuer
	caFile     string
	tokenFile  string
	grantsDir  string
	stateDir   string
}

// cluster is a place's, which behaves like any other.
type cluster interface {
	// Admin is a client that may do anything.
	Admin() client.Client

	// Kubeconfig is how the Pod's account reaches the cluster.
	Kubeconfig(pod *corev1.Pod) *clientcmdapi.Config

	// Token is the Pod's bound token.
	Token(pod *corev1.Pod) string

	// Poll is how often its API server can be asked.
	Poll() time.Duration
}

// rules are what the home needs, and no more.
var rules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods", "namespaces"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims"}, Verbs: []string{"get"}},
}

// newPlace makes a Pod in a cluster, and everything that it needs.
func newPlace(t *testing.T, c cluster) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{
		T: t, cluster: c, dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig"),
		tokenFile: filepath.Join(dir, "token"), caFile: filepath.Join(dir, "ca.pem"),
		grantsDir: filepath.Join(dir, "grants"), stateDir: filepath.Join(dir, "state"),
	}
	in := metav1.ObjectMeta{Namespace: namespace, Name: "fiberd"}
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: in.Name, AutomountServiceAccountToken: &no,
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: home.PodConditionZygoteReady}},
			Containers:     []corev1.Container{{Name: "fiberd", Image: "fiberd"}},
		},
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{ObjectMeta: in},
		&rbacv1.Role{ObjectMeta: in, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: in, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: in.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: in.Namespace, Name: in.Name}},
		},
		pod,
	} {
		if err := c.Admin().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	p.uid = string(pod.UID)
	if err := clientcmd.WriteToFile(*c.Kubeconfig(pod), p.kubeconfig); err != nil {
		t.Fatal(err)
	}

	mux := http.NewServeMux()
	p.controller = httptest.NewTLSServer(mux)
	t.Cleanup(p.controller.Close)
	p.issuer = issuer.New(issuer.Config{URL: p.controller.URL, Clock: clock.New(), Lease: lease})
	mux.Handle("/", p.issuer.Handler(p.controller.URL))
	p.bearer = c.Token(pod)
	p.issuer.Trust(p.bearer, issuer.Pod{Name: podName, UID: p.uid})
	p.write(p.tokenFile, []byte(p.bearer))
	p.write(p.caFile, pemOf(p.controller))
	return p
}

func (p *place) write(name string, content []byte) {
	p.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		p.Fatal(err)
	}
}

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// args are the flags of a daemon that works.
func (p *place) args() []string {
	return []string{
		"--kubeconfig", p.kubeconfig, "--pod-name", podName, "--pod-namespace", namespace, "--pod-uid", p.uid,
		"--stale-ttl", (5 * p.Poll()).String(), "--poll", p.Poll().String(), "--grants-poll", "100ms", "--grants-dir", p.grantsDir, "--state-dir", p.stateDir,
		"--grant-token-file", p.tokenFile, "--grant-issuer-url", p.controller.URL, "--grant-ca-file", p.caFile, "--listen", "127.0.0.1:0",
	}
}

// start starts an agent.
func (p *place) start(args ...string) *daemontest.Process {
	p.Helper()
	return daemontest.Start(p.T, args...)
}

// eventually waits until something is so.
func (p *place) eventually(what string, is func() bool) {
	p.Helper()
	daemontest.Eventually(p.T, what, is)
}

func (p *place) condition() corev1.PodCondition {
	pod := &corev1.Pod{}
	if err := p.Admin().Get(p.Context(), client.ObjectKey{Namespace: namespace, Name: podName}, pod); err != nil {
		p.Fatal(err)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == home.PodConditionZygoteReady {
			return c
		}
	}
	return corev1.PodCondition{}
}
