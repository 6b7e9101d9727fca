package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/clock"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

// kubeconfig is a file with a cluster and who one is there.
func kubeconfig(url string, ca []byte, token string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: ca}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	config.CurrentContext = "c"
	return config
}

// simulated is an API server of ours.
type simulated struct {
	server *httptest.Server
	admin  client.Client
	down   atomic.Bool // it breaks all connections
}

func newSimulated(t *testing.T) *simulated {
	t.Helper()
	handler := rest.New(apiserver.New(apiserver.Options{Clock: clock.New()}))
	s := &simulated{}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.down.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	var err error
	if s.admin, err = client.New(handler.Config(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *simulated) Admin() client.Client { return s.admin }

func (s *simulated) Kubeconfig(*corev1.Pod) *clientcmdapi.Config {
	return kubeconfig(s.server.URL, pemOf(s.server), "")
}

func (s *simulated) Token(*corev1.Pod) string { return "the-pods-bound-token" }

func (s *simulated) Poll() time.Duration { return 200 * time.Millisecond }

// genuine is a kube-apiserver. The Pod is there as its own service account, with tokens
// that are bound to it.
type genuine struct {
	*testing.T
	server *testenv.Server
	admin  client.Client
}

func newGenuine(t *testing.T) *genuine {
	t.Helper()
	if os.Getenv("SEEDBED_TEST_REAL") == "" {
		t.Skip("needs a real kube-apiserver: make test-real runs it")
	}
	server, err := testenv.Start(t.Context(), testenv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	g := &genuine{T: t, server: server}
	if g.admin, err = client.New(server.Config(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *genuine) Admin() client.Client { return g.admin }

func (g *genuine) Kubeconfig(pod *corev1.Pod) *clientcmdapi.Config {
	return kubeconfig(g.server.URL().String(), g.server.CA(), g.token(pod))
}

func (g *genuine) Token(pod *corev1.Pod) string {
	return g.token(pod, "https://controller.example.com")
}

func (g *genuine) Poll() time.Duration { return time.Second }

// token asks for a token as the kubelet does.
func (g *genuine) token(pod *corev1.Pod, audiences ...string) string {
	g.Helper()
	api, err := kubernetes.NewForConfig(g.server.Config())
	if err != nil {
		g.Fatal(err)
	}
	seconds := int64(time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: audiences, ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	answer, err := api.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(g.Context(), pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		g.Fatal(err)
	}
	return answer.Status.Token
}
