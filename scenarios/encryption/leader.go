package encryption

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/migration"
	"github.com/seedbed-sim/seedbed/core/encryption/nodestate"
	"github.com/seedbed-sim/seedbed/core/leaderelection"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

const leaseName = "seedbed-encryption"

// runController is the main function of the processes of the controllers: it waits
// until it leads, and ends when it leads no longer.
func (s *State) runController(ctx context.Context, env *cluster.Env) {
	elector, err := leaderelection.New(leaderelection.Config{
		Live: env.Kube, Clock: env.Clock, Log: s.logOf(env),
		Lease:    client.ObjectKey{Namespace: Namespace, Name: leaseName},
		Identity: fmt.Sprintf("%s_%d", env.Process, env.Incarnation),
		Floor: func(ctx context.Context) (int64, error) {
			return encryption.LastEpoch(ctx, env.Kube, Namespace, Component)
		},
	})
	if err == nil {
		err = elector.Run(ctx, func(ctx context.Context) { s.lead(ctx, env, elector) })
	}
	if err != nil {
		env.Log.Info("The process ends", "why", err.Error())
	}
}

// lead runs the controllers for as long as the process leads.
func (s *State) lead(ctx context.Context, env *cluster.Env, elector *leaderelection.Elector) {
	s.leads(env, elector.Epoch())
	observed := &observed{Client: env.Kube, state: s, env: env, epoch: elector.Epoch}
	provider := encryption.PolicyProvider{Cached: env.Cache}
	nodes := controlPlane(env, env.Kube).Nodes
	component := &encryption.Component{
		Name: Component, Namespace: Namespace, References: References, Provider: provider, Deployer: s.union(env, s.deployer(env, nodes)),
		Live: observed, Cached: env.Cache, Clock: env.Clock, Entropy: s.learnEntropy(env.Entropy), Epoch: elector.Epoch,
		Recorder: recorder{s, env}, Log: s.logOf(env), UpdatePlugins: s.config.UpdatePlugins,
		Reports: &nodestate.Reports{Live: env.Kube, Nodes: nodes}, Configs: &config.Decoder{},
	}
	migrator := migration.New(migration.Config{Live: env.Kube, Kinds: served{s}, Clock: env.Clock, Log: s.logOf(env)})
	group := env.Clock.NewGroup(ctx)
	group.Go("migrator", migrator.Run)
	controllers := encryption.Controllers(component, s.observeMigrator(env, migrator), migrator, s.preflightDeployer(env))
	for i := range controllers {
		controllers[i].Reconciler = &counted{controllers[i].Reconciler, s, controllers[i].Name}
	}
	if err := env.Run(ctx, controllers...); err != nil && ctx.Err() == nil {
		env.Log.Error(err, "Controllers ended")
	}
	group.Wait()
}

// deployer finds out what API servers run.
func (s *State) deployer(env *cluster.Env, nodes func(context.Context) ([]string, error)) encryption.Deployer {
	if s.config.Rollout == reloadMode {
		return &deployer.Reloading{
			Live: env.Kube, Clock: env.Clock, IdentitySelector: labels.SelectorFromSet(labels.Set{deployer.IdentityLabel: "kube-apiserver"}),
			ConfigNamespace: Namespace, Log: s.logOf(env),
			Scrape: func(ctx context.Context, l *coordinationv1.Lease) (string, error) { return s.scrape(ctx, env, l) },
		}
	}
	return &deployer.StaticPods{
		Live: env.Kube, Namespace: serverNamespace, Selector: serverPods(),
		ConfigNamespace: Namespace, Nodes: nodes, Log: s.logOf(env),
	}
}

// served knows the kinds that API servers serve, as discovery tells.
type served struct{ state *State }

// PreferredKind implements migration.Kinds.
func (k served) PreferredKind(_ context.Context, gr schema.GroupResource) (schema.GroupVersionKind, error) {
	for _, r := range k.state.world.Cluster.Store().Resources() {
		if r.Group == gr.Group && r.Plural == gr.Resource {
			return r.GVK(), nil
		}
	}
	return schema.GroupVersionKind{}, &meta.NoResourceMatchError{PartialResource: gr.WithVersion("")}
}

// leaderRestart is how processes of the controllers come back.
var leaderRestart = cluster.Restart{Delay: 2 * time.Second, Max: time.Minute}
