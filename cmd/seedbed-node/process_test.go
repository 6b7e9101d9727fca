package main

import (
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/controller"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
	"github.com/seedbed-sim/seedbed/realmode/deploy"
	"github.com/seedbed-sim/seedbed/realmode/node"
)

func TestMain(m *testing.M) {
	os.Exit(daemontest.Main(m, func() int { return realMain(os.Args[1:], os.Stdout, os.Stderr) }))
}

// place is a cluster of ours behind a socket, where the account of agents has its
// permissions and nothing else.
type place struct {
	*testing.T
	server     *httptest.Server
	admin      client.Client
	kubeconfig string
	port       int
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	handler := fakerest.New(apiserver.New(apiserver.Options{Clock: clock.New(), RBAC: true, DefaultRoles: true}), fakerest.WithTokens(map[string]*apiserver.User{
		"admin": nil, "agent": {Name: "system:serviceaccount:seedbed-system:seedbed-node", Groups: []string{"system:authenticated"}},
	}))
	p.server = httptest.NewTLSServer(handler)
	t.Cleanup(p.server.Close)
	cfg := handler.Config()
	cfg.BearerToken = "admin"
	var err error
	p.admin, err = client.New(cfg, client.Options{})
	p.must(err)
	account := node.Config{Namespace: controller.GossipNamespace, Secret: gossipkeys.SecretName}
	for _, o := range deploy.Roles(deploy.Account{Namespace: controller.Namespace, Name: "seedbed-node"}, "seedbed-node", account.Grants()) {
		p.must(p.admin.Create(t.Context(), o))
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: p.server.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "agent"}
	config.CurrentContext = "c"
	p.must(clientcmd.WriteToFile(*config, p.kubeconfig))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.must(l.Close())
	p.port = l.Addr().(*net.TCPAddr).Port
	return p
}

// start runs an agent on a node of its own.
func (p *place) start(n int) *daemontest.Process {
	p.Helper()
	name, address := fmt.Sprint("node-", n), fmt.Sprintf("127.0.79.%d", n)
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.must(p.admin.Create(p.Context(), o))
	o.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	p.must(p.admin.Status().Update(p.Context(), o))
	return daemontest.Start(p.T, "--gossip", "--kubeconfig", p.kubeconfig, "--node-name", name, "--gossip-address", address,
		"--gossip-port", fmt.Sprint(p.port), "--listen", "127.0.0.1:0", "--log-level", "debug")
}

func (p *place) eventually(what string, is func() bool) {
	p.Helper()
	daemontest.Eventually(p.T, what, is)
}

var served = regexp.MustCompile(`Serves /healthz.* address=(\S+)`)

// status is what seedbed-node gossip status shows of an agent.
func (p *place) status(a *daemontest.Process) string {
	p.Helper()
	var address string
	p.eventually("the agent serves its endpoints", func() bool {
		found := served.FindStringSubmatch(a.Output())
		if found == nil {
			return false
		}
		address = found[1]
		return true
	})
	var out, log daemontest.Buffer
	if code := realMain([]string{"gossip", "status", "--listen", address}, &out, &log); code != 0 {
		p.Fatalf("exit code %d: %s", code, log.String())
	}
	return out.String()
}

// TestProgram: agents wait for a key, form a cluster when there is one, report, and tell of
// themselves; with no more than their permissions.
func TestProgram(t *testing.T) {
	p := newPlace(t)
	first, second := p.start(1), p.start(2)
	if got, want := p.status(first), "node node-1\nkeys none yet\n0 members\n"; got != want {
		t.Errorf("without keys: %q, want %q", got, want)
	}
	p.must(gossipkeys.NewProvisioner(p.admin, rand.Reader, controller.GossipNamespace).EnsureSecret(t.Context()))
	shown := regexp.MustCompile(`^node node-1\nkeys [0-9a-f]{8} \(generation 0, since \S+\)\n2 members\n  node-1\n  node-2\n$`)
	p.eventually("both are in one cluster", func() bool { return shown.MatchString(p.status(first)) })
	secret := &corev1.Secret{}
	p.must(p.admin.Get(t.Context(), client.ObjectKey{Namespace: controller.GossipNamespace, Name: gossipkeys.SecretName}, secret))
	key := strings.TrimSpace(string(secret.Data[gossipkeys.DataKey]))
	for _, a := range []*daemontest.Process{first, second} {
		a.Stop()
		if !a.Says("Has stopped, as it was told to") {
			t.Error("it does not say that it has stopped")
		}
		if strings.Contains(a.Output(), key) || strings.Contains(a.Output(), "forbidden") {
			t.Error("its log shows a key, or that it tried what it may not")
		}
	}
}

// TestTrouble: what is wrong is said in one line.
func TestTrouble(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		name, args string
		code       int
		want       string
	}{
		{"nothing", "", 2, "nothing is switched on: set --gossip"},
		{"no name", "--gossip --node-name=", 2, "--node-name is empty: set it to the name of this node"},
		{"no address", "--gossip --node-name n --gossip-address=", 2, `--gossip-address is "" and --gossip-port 10351: set them to the internal address of this node and a port`},
		{"an unknown flag", "--gosip", 2, "unknown flag: --gosip"},
		{"no cluster", "--gossip --node-name n --gossip-address 127.0.0.1", 2, "this is no Pod, so set --kubeconfig"},
		{"an address that is none", "--gossip --node-name n --gossip-address 127.0.0.1 --kubeconfig KUBECONFIG --listen nowhere", 2, "--listen: listen tcp: address nowhere: missing port"},
		{"no permission", "--gossip --node-name n --gossip-address 127.0.0.1 --gossip-secret other --kubeconfig KUBECONFIG --listen=", 1, `this account may not get secrets "other" in kube-system, nor list secrets "other" in kube-system, nor watch secrets "other" in kube-system: bind the roles of realmode/deploy to it`},
		{"nobody to ask", "gossip status --listen 127.0.0.1:1", 1, "ask the agent, which listens where its own --listen says: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log daemontest.Buffer
			code := realMain(strings.Fields(strings.ReplaceAll(c.args, "KUBECONFIG", p.kubeconfig)), &out, &log)
			if code != c.code || !strings.Contains(log.String(), c.want) {
				t.Errorf("exit code %d, want %d; said\n%s\nwant it to say\n%s", code, c.code, log.String(), c.want)
			}
		})
	}
}
