package main

import (
	"context"
	"encoding/pem"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/authz"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/daemon/daemontest"
	"github.com/seedbed-sim/seedbed/realmode/deploy"
)

func TestMain(m *testing.M) {
	os.Exit(daemontest.Main(m, func() int { return realMain(os.Args[1:], os.Stdout, os.Stderr) }))
}

// place is a cluster of ours behind a socket, where the accounts of the manifests have their
// permissions and nothing else.
type place struct {
	*testing.T
	store  *apiserver.Store
	server *httptest.Server
	admin  client.Client
	dir    string

	mu      sync.Mutex
	refused []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir()}
	p.store = apiserver.NewStore(apiserver.Options{Clock: clock.New(), RBAC: true, DefaultRoles: true, Refused: p.note})
	server := apiserver.NewServer(p.store, "apiserver-1")
	token := func(a deploy.Account) *apiserver.User {
		return &apiserver.User{Name: "system:serviceaccount:" + a.Namespace + ":" + a.Name, Groups: []string{
			"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated",
		}}
	}
	handler := fakerest.New(server, fakerest.WithTokens(map[string]*apiserver.User{
		"admin": nil, deploy.Controller.Name: token(deploy.Controller), deploy.Webhook.Name: token(deploy.Webhook),
		"nobody": {Name: "nobody", Groups: []string{"system:authenticated"}},
	}))
	p.server = httptest.NewTLSServer(handler)
	t.Cleanup(p.server.Close)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		p.must(add(scheme))
	}
	cfg := handler.Config()
	cfg.BearerToken = "admin"
	var err error
	p.admin, err = client.New(cfg, client.Options{Scheme: scheme})
	p.must(err)
	for _, name := range []string{"namespaces.yaml", "roles-encryption.yaml", "roles-gossip.yaml", "roles-shadows.yaml", "controller.yaml", "webhook.yaml"} {
		for _, o := range deploy.Cluster()[name] {
			p.must(p.admin.Create(t.Context(), o))
		}
	}
	p.must(p.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: objectMeta("", "app")}))
	return p
}

func (p *place) note(a *authz.Attributes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.User != nil && a.User.Name != "nobody" {
		p.refused = append(p.refused, strings.Join([]string{a.User.Name, a.Verb, a.Resource, a.Subresource, a.Namespace, a.Name}, " "))
	}
}

// nothingRefused checks that no account tried what it may not.
func (p *place) nothingRefused() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) > 0 {
		p.Errorf("accounts tried what they may not:\n%s", strings.Join(p.refused, "\n"))
	}
}

// install creates the CustomResourceDefinitions.
func (p *place) install() {
	p.Helper()
	names, err := fs.Glob(v1alpha1.CRDs, "crds/*.yaml")
	p.must(err)
	for _, name := range names {
		data, err := v1alpha1.CRDs.ReadFile(name)
		p.must(err)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		p.must(yaml.UnmarshalStrict(data, crd))
		p.must(p.admin.Create(p.Context(), crd))
	}
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// kubeconfig is a file for an account.
func (p *place) kubeconfig(account string) string {
	p.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: p.server.URL, CertificateAuthorityData: pemOf(p.server)}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: account}
	config.CurrentContext = "c"
	file := filepath.Join(p.dir, account+".kubeconfig")
	p.must(clientcmd.WriteToFile(*config, file))
	return file
}

// start runs the program as an account.
func (p *place) start(account string, args ...string) *daemontest.Process {
	p.Helper()
	return daemontest.Start(p.T, append(args, "--kubeconfig", p.kubeconfig(account))...)
}

// eventually waits until something is so.
func (p *place) eventually(what string, is func() bool) {
	p.Helper()
	daemontest.Eventually(p.T, what, is)
}

// address waits for what a process logs of an address after a text.
func (p *place) address(r *daemontest.Process, after string) (address string) {
	p.Helper()
	p.eventually("it says: "+after, func() bool {
		_, rest, ok := strings.Cut(r.Output(), after)
		_, rest, there := strings.Cut(rest, "address=")
		address, _, _ = strings.Cut(rest, "\n")
		return ok && there
	})
	return address
}

// has reports whether a metric has a value.
func (p *place) has(r *daemontest.Process, metric string) bool {
	p.Helper()
	_, metrics := r.Get("/metrics")
	return strings.Contains("\n"+metrics, "\n"+metric+"\n")
}

// secret returns a Secret, nil if it is not there.
func (p *place) secret(namespace, name string) *corev1.Secret {
	p.Helper()
	s := &corev1.Secret{}
	err := p.admin.Get(context.WithoutCancel(p.Context()), client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	p.must(err)
	return s
}
