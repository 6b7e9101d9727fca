package encryption

import (
	"context"
	"errors"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// server is an API server of the cluster, with what it has loaded.
type server struct {
	state    *State
	instance *cluster.Instance

	started  bool // it answers, be it that it drains
	revision int64
	raw      []byte      // the configuration that it has loaded; nil for none
	loaded   state.State // what raw says
}

// start loads a configuration and answers from now on.
func (v *server) start(ctx context.Context, revision int64, raw []byte) error {
	if err := v.load(ctx, raw); err != nil {
		return err
	}
	v.revision, v.started = revision, true
	v.instance.Start()
	v.state.serversChanged()
	return nil
}

// stop ends the API server.
func (v *server) stop() {
	if !v.started {
		return
	}
	v.started = false
	v.instance.Stop()
	v.state.serversChanged()
}

var errNoServer = errors.New("no API server answers")

// direct makes requests without latency or faults, at a server of its choice.
type direct struct {
	state  *State
	choose func() *apiserver.Server
	user   string
}

// Call implements apiserver.Caller.
func (d direct) Call(_ context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	server := d.choose()
	if server == nil {
		return nil, errNoServer
	}
	if d.user != "" && req.User == nil {
		req.User = user(d.user)
	}
	resp, err := server.Do(req)
	if err == nil && req.Verb.Write() {
		d.state.world.Engine().Touch()
	}
	return resp, err
}

// OpenWatch implements apiserver.Caller.
func (d direct) OpenWatch(ctx context.Context, req *apiserver.Request) (apiserver.Stream, error) {
	server := d.choose()
	if server == nil {
		return nil, errNoServer
	}
	return server.OpenWatch(ctx, req)
}

// Store lets clients find out which kinds there are.
func (d direct) Store() *apiserver.Store { return d.state.world.Cluster.Store() }

// answering is an API server that answers; nil if none does.
func (s *State) answering() *apiserver.Server {
	for _, n := range s.nodes {
		if n.server.started {
			return n.server.instance.Server()
		}
	}
	return nil
}

func user(name string) *apiserver.User { return &apiserver.User{Name: name} }
