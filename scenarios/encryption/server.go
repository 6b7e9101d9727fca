package encryption

import (
	"context"
	"errors"
	"slices"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/encryption"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// server is an API server of the cluster.
type server struct {
	state    *State
	instance *cluster.Instance
	revision int64 // that it was started with
	seen     seenServer
}

// seenServer is what was seen of a server last.
type seenServer struct {
	answers bool
	hash    string
	loaded  state.State
}

// answers reports whether the API server answers, be it that it drains.
func (v *server) answers() bool { return !v.instance.Down() }

// loaded is the configuration that the API server has loaded; nil for none.
func (v *server) loaded() state.State { return v.seen.loaded }

// start starts the process with a revision. It answers some time later, if it can load
// the configuration. One that is deaf never loads anything anew.
func (v *server) start(m manifest, deaf bool) {
	v.revision = m.revision
	v.instance.SetEncryption(cluster.EncryptionFlags{ProviderConfig: m.config, AutomaticReload: m.reload && !deaf, HealthzExpires: v.state.config.HealthzExpires,
		Watched: !slices.Contains(m.exclude, encryption.PluginsCheck)})
	v.instance.Start()
}

// usesKMS reports whether the server needs KMS plugins.
func (v *server) usesKMS() bool {
	v.state.look() // it may have come up in this very step
	for _, k := range v.loaded().ReadKeys() {
		if k.Mode == state.KMS {
			return true
		}
	}
	return false
}

// stop ends the API server.
func (v *server) stop() { v.instance.Stop() }

// look looks at the API servers whenever something has changed.
func (s *State) look() {
	changed := false
	for _, n := range s.nodes {
		v := n.server
		now := seenServer{answers: v.answers()}
		if l := v.instance.Encryption(); l != nil && now.answers {
			now.hash = l.Info().Hash
		}
		if now.answers != v.seen.answers || now.hash != v.seen.hash {
			now.loaded = s.configs[now.hash]
			v.seen, changed = now, true
		}
	}
	if changed {
		s.serversChanged()
	}
}

var errNoServer = errors.New("no API server answers")

// direct makes requests without latency or faults, at a server of its choice.
type direct struct {
	state  *State
	choose func() *apiserver.Server
	user   string // empty for one who may do everything
}

// Call implements apiserver.Caller.
func (d direct) Call(_ context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	server := d.choose()
	if server == nil {
		return nil, errNoServer
	}
	if d.user != "" {
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
		if n.server.answers() {
			return n.server.instance.Server()
		}
	}
	return nil
}

func user(name string) *apiserver.User { return &apiserver.User{Name: name} }
