package home_test

import (
	"os"
	"testing"

	"github.com/seedbed-sim/seedbed/core/home/kubetest"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

// TestKubeOfASimulatedServer runs the suite through HTTP, without a socket.
func TestKubeOfASimulatedServer(t *testing.T) {
	kubetest.Run(t, "simulated", newWorld(t, fakerest.New(apiserver.New(apiserver.Options{})).Config(), true))
}

// TestKubeOfARealServer runs the suite against kube-apiserver, with claims and without.
func TestKubeOfARealServer(t *testing.T) {
	if os.Getenv("SEEDBED_TEST_REAL") == "" {
		t.Skip("needs a real kube-apiserver: make test-real runs it")
	}
	for _, c := range []struct {
		name  string
		flags []string
	}{
		{"with-claims", nil},
		{"without-claims", []string{"--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta1=false,resource.k8s.io/v1beta2=false"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, err := testenv.Start(t.Context(), testenv.Options{Flags: c.flags})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
			kubetest.Run(t, c.name, newWorld(t, server.Config(), c.flags == nil))
		})
	}
}
