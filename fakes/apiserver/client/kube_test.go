package client_test

import (
	"context"
	"testing"

	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/core/kube/kubetest"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// path is a way to a server that who has given up does not take, as that of the simulator.
type path struct{ *apiserver.Server }

func (p path) Call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.Server.Call(ctx, req)
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestKube: the client of the simulator is a kube.Kube as core relies on it.
func TestKube(t *testing.T) {
	kubetest.Run(t, "fake", client.New(path{apiserver.New(apiserver.Options{})}, clientscheme.Scheme), ended)
}
