package kube_test

import (
	"context"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/core/kube/kubetest"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	fakerest "github.com/seedbed-sim/seedbed/fakes/apiserver/rest"
	"github.com/seedbed-sim/seedbed/realmode/kube"
	"github.com/seedbed-sim/seedbed/realmode/testenv"
)

func connect(t *testing.T, cfg *rest.Config) *kube.Cluster {
	t.Helper()
	c, err := kube.Connect(cfg, kube.Options{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestKubeOfASimulatedServer runs the suite through HTTP, without a socket.
func TestKubeOfASimulatedServer(t *testing.T) {
	kubetest.Run(t, "simulated", connect(t, fakerest.New(apiserver.New(apiserver.Options{})).Config()).Live(), ended)
}

// TestKubeOfARealServer runs the suite against kube-apiserver.
func TestKubeOfARealServer(t *testing.T) {
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
	kubetest.Run(t, "real", connect(t, server.Config()).Live(), ended)
}
