package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/deployer"
	"github.com/seedbed-sim/seedbed/core/encryption/migration"
	"github.com/seedbed-sim/seedbed/core/encryption/nodestate"
	"github.com/seedbed-sim/seedbed/core/encryption/preflightpod"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	corekube "github.com/seedbed-sim/seedbed/core/kube"
	realencryption "github.com/seedbed-sim/seedbed/realmode/encryption"
	"github.com/seedbed-sim/seedbed/realmode/kube"
)

// work is what a leader does.
type work struct {
	controllers []corekube.Controller
	tasks       map[string]func(ctx context.Context) // beside them
}

// work wires the parts that are on.
func (p *Process) work(events *kube.Events) (*work, error) {
	w := &work{tasks: map[string]func(ctx context.Context){}}
	if p.cfg.Encryption != nil {
		if err := p.encryption(w, events); err != nil {
			return nil, err
		}
	}
	if g := p.cfg.Gossip; g != nil {
		w.controllers = append(w.controllers, p.gossip(g)...)
	}
	if p.cfg.Shadows {
		r := &shadow.SecretReconciler{
			Cache: p.cluster.Cached(), Live: p.cluster.Live(), Entropy: p.cfg.Entropy, Recorder: events, Log: p.cfg.Log.WithName("cloak"),
		}
		w.controllers = append(w.controllers, r.Controller())
	}
	return w, nil
}

// encryption wires what encrypts objects.
func (p *Process) encryption(w *work, events *kube.Events) error {
	e, live, log := p.cfg.Encryption, p.cluster.Live(), p.cfg.Log.WithName("encryption")
	scraper, err := realencryption.NewScraper(p.cfg.Rest, live)
	if err != nil {
		return err
	}
	identities := labels.SelectorFromSet(labels.Set{deployer.IdentityLabel: "kube-apiserver"})
	nodes := (&deployer.ControlPlane{Live: live, Clock: p.cfg.Clock, Namespace: e.ServersNamespace, Selector: e.ServersSelector}).Nodes
	component := &encryption.Component{
		Name: e.Component, Namespace: e.Namespace, References: e.References,
		Provider: encryption.PolicyProvider{Cached: p.cluster.Cached()},
		Deployer: &deployer.ByPolicy{
			Live: live,
			StaticPods: &deployer.StaticPods{
				Live: live, Namespace: e.ServersNamespace, Selector: e.ServersSelector, ConfigNamespace: e.Namespace, Nodes: nodes, Log: log,
			},
			Reloading: &deployer.Reloading{
				Live: live, Clock: p.cfg.Clock, IdentitySelector: identities, ConfigNamespace: e.Namespace, Scrape: scraper.Scrape, Log: log,
			},
		},
		Reports: &nodestate.Reports{Live: live, Nodes: nodes}, UpdatePlugins: e.UpdatePlugins,
		Live: live, Cached: p.cluster.Cached(), Clock: p.cfg.Clock, Entropy: p.cfg.Entropy, Epoch: p.elector.Epoch,
		Recorder: policyEvents{events, p.cluster.Cached()}, Log: log, Configs: &config.Decoder{},
	}
	migrator := migration.New(migration.Config{Live: live, Kinds: p.cluster.Kinds(), Clock: p.cfg.Clock, Entropy: p.cfg.Entropy, Log: log})
	preflight := &preflightpod.Deployer{Live: live, Namespace: e.Namespace, Spec: preflightpod.Spec(e.PreflightImage)}
	w.tasks["migrator"] = migrator.Run
	w.controllers = append(w.controllers, encryption.Controllers(component, migrator, migrator, preflight)...)
	return nil
}

// policyEvents records events about the policy. It is encryption.Recorder.
type policyEvents struct {
	events *kube.Events
	cached corekube.Reader
}

// Event implements encryption.Recorder.
func (r policyEvents) Event(reason, message string) {
	policy := &v1alpha1.EncryptionPolicy{}
	if r.cached.Get(context.Background(), client.ObjectKey{Name: v1alpha1.PolicyName}, policy) != nil {
		policy.ObjectMeta = metav1.ObjectMeta{Name: v1alpha1.PolicyName} // it goes without a uid
	}
	r.events.Event(policy, corev1.EventTypeNormal, reason, message)
}

// gossip wires what keeps and rotates the keys of gossip.
func (p *Process) gossip(g *Gossip) []corekube.Controller {
	options := append(g.options(), gossipkeys.WithLogger(p.cfg.Log.WithName("gossip-keys")))
	provisioner := gossipkeys.NewProvisioner(p.cluster.Live(), p.cfg.Entropy, g.Namespace, options...)
	return []corekube.Controller{provisioner.Controller(), Rotator(p.cluster, p.cluster.Cached(), &p.cfg, options...).Controller()}
}

// Rotator returns what rotates the keys of gossip. Cache may be live itself.
func Rotator(cluster *kube.Cluster, cache corekube.Reader, cfg *Config, options ...gossipkeys.Option) *gossipkeys.Rotator {
	return gossipkeys.NewRotator(cluster.Live(), cache, cfg.Clock, cfg.Entropy, cfg.Gossip.Namespace, append(cfg.Gossip.options(), options...)...)
}

// floor is an epoch that leaders have had.
func (p *Process) floor(ctx context.Context) (int64, error) {
	e := p.cfg.Encryption
	if e == nil {
		return 0, nil
	}
	epoch, err := encryption.LastEpoch(ctx, p.election.Live(), e.Namespace, e.Component)
	if err != nil {
		return 0, fmt.Errorf("component %s: %w", e.Component, err)
	}
	return epoch, nil
}
