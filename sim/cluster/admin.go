package cluster

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	apiclient "github.com/seedbed-sim/seedbed/fakes/apiserver/client"
)

// touching is an API server that answers at once; writes make properties look.
type touching struct {
	*apiserver.Server
	cluster *Cluster
	work    apiserver.Work
}

// Call implements apiserver.Caller.
func (t *touching) Call(_ context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	resp, err := t.DoIn(&t.work, req)
	if err == nil && req.Verb.Write() {
		t.cluster.wrote("", req, resp)
		t.cluster.eng.Touch()
	}
	return resp, err
}

// Store lets clients find out which kinds there are.
func (c caller) Store() *apiserver.Store { return c.proc.cluster.store }

// clientOptions are those of every client in the cluster.
func (c *Cluster) clientOptions() []apiclient.Option {
	if c.cfg.ManagedFields {
		return nil
	}
	return []apiclient.Option{apiclient.WithoutManagedFields()}
}

// kube returns the process's API client; it lives through all incarnations.
func (p *Process) kube() client.Client {
	if p.client == nil {
		p.client = apiclient.New(caller{p}, p.cluster.cfg.Scheme, append(p.cluster.clientOptions(), apiclient.WithUserAgent(p.agent))...)
	}
	return p.client
}
