package cloak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/references"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/cloak/webhook"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/admission"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/leaks"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// State is the system in one run.
type State struct {
	world  *scenarios.World
	config Config
	random *engine.Stream

	nodes  []*node
	byName map[string]*node
	works  []*work
	names  names

	changed []SecretConfig       // as Secrets are now, where that is not as at first
	foreign map[types.UID]string // Secrets of somebody else in the place of shadows, by their names

	webhookDown  bool
	webhookBlind bool                 // some of its reads fail
	values       map[ValueName][]byte // that a Secret has had
	leaks        leaks.Index
	breaches     map[string]error
	told         map[string]bool // the reasons of events
}

// System returns the system for registration.
func System() scenarios.System {
	return scenarios.System{
		Name:       "cloak",
		Doc:        "Secrets that applications never see: workloads hold placeholders, and the real values appear on the wire only, in TLS records to where they may go.",
		Config:     defaults(),
		Check:      scenarios.CheckWith(checkConfig),
		Processes:  scenarios.ProcessesWith(processes),
		Build:      scenarios.BuildWith(build),
		View:       scenarios.ViewOf(view),
		Steps:      steps(),
		Properties: properties(),
	}
}

func build(w *scenarios.World, c Config) (*State, error) {
	s := &State{
		world: w, config: c, random: w.Engine().Stream("cloak", "traffic"), byName: map[string]*node{},
		values: map[ValueName][]byte{}, breaches: map[string]error{}, foreign: map[types.UID]string{}, told: map[string]bool{},
		names: names{ever: map[netip.Addr]bool{}, endpoints: []int{1, 2}, rogue: c.Rogue},
	}
	if err := errors.Join(s.furnish(), allow(w)); err != nil {
		return nil, err
	}
	s.hook()
	s.watchSecrecy()
	for _, n := range w.Cluster.Nodes() {
		s.addNode(n.Name())
	}
	w.Cluster.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "runtime", Main: s.runRuntime})
	w.Cluster.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", Main: s.runAgent, User: user(agentUser)})
	for _, secret := range c.Secrets {
		if err := s.putSecret(secret); err != nil {
			return nil, err
		}
	}
	for i, p := range c.Pods {
		s.addressesOf(p.Host) // in this order
		if p.Node == "" {
			p.Node = s.nodes[i%len(s.nodes)].name
		}
		s.works = append(s.works, &work{config: p, node: s.byName[p.Node], addr: netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i + 1)}), wanted: true})
	}
	for _, w := range s.works {
		if w.config.Address != "" {
			w.addr, w.wanted = s.workOf(w.config.Address).addr, false
		}
	}
	w.ControlPlane().Process(cluster.ProcessSpec{Name: "workloads", Main: s.runWorkloads, User: user(workloadUser)})
	return s, nil
}

// furnish makes what must be there before anything else.
func (s *State) furnish() error {
	ctx, admin := context.Background(), s.world.Admin()
	err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: map[string]string{cloak.AnnotationEnabled: "true"}}})
	if err == nil {
		err = admin.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: cloak.KubeDNSNamespace, Name: cloak.KubeDNSName},
			Spec:       corev1.ServiceSpec{ClusterIP: clusterDNS.String(), Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}}},
		})
	}
	if err != nil {
		return fmt.Errorf("furnish the cluster: %w", err)
	}
	return s.publish()
}

// workOf returns the workload with a name, nil if there is none.
func (s *State) workOf(name string) *work {
	for _, w := range s.works {
		if w.config.Name == name {
			return w
		}
	}
	return nil
}

// hook puts the webhook in front of the API servers. It looks at the store itself, as
// one does whose reads are live.
func (s *State) hook() {
	pods, secrets := &webhook.Pods{Live: sighted{s.world.Admin(), s}}, webhook.Secrets{}
	s.world.Cluster.Store().Hook(admission.Hook{
		Name: "pods.getkloak.io", Match: matches("pods"), Reinvoke: true,
		Mutate: func(r *admission.Review) admission.Answer {
			p, ok := r.Object.(*corev1.Pod)
			if !ok || r.Namespace != Namespace || r.Operation != admission.Create {
				return admission.Answer{}
			}
			if s.webhookDown {
				return admission.TimedOut("https://webhook.kloak-system.svc", 10)
			}
			err := pods.Mutate(context.Background(), r.Namespace, p, nil)
			if err == nil {
				s.admitted(p)
			}
			return answer(err)
		},
	})
	s.world.Cluster.Store().Hook(admission.Hook{
		Name: "secrets.getkloak.io", Match: matches("secrets"),
		Validate: func(r *admission.Review) admission.Answer {
			secret, ok := r.Object.(*corev1.Secret)
			if !ok || s.webhookDown || secret.Labels[cloak.AnnotationSecretEnabled] == "" {
				return admission.Answer{}
			}
			old, _ := r.Old.(*corev1.Secret)
			return answer(secrets.Validate(secret, old))
		},
	})
	everything := matches("secrets")
	everything.Operations = append(everything.Operations, admission.Delete)
	s.world.Cluster.Store().Hook(admission.Hook{Name: "watch.getkloak.io", Match: everything, Validate: func(r *admission.Review) admission.Answer {
		if r.User != nil && r.User.Name == agentUser {
			s.breaks(othersKeepTheirs, meddling(r))
		}
		return admission.Answer{}
	}})
}

// meddling says what an agent is about to do to what is not its own, if it is.
func meddling(r *admission.Review) error {
	old, _ := r.Old.(*corev1.Secret)
	secret, _ := r.Object.(*corev1.Secret)
	switch {
	case old == nil && secret != nil && !shadow.Managed(secret):
		return fmt.Errorf("an agent makes Secret %s, which is no shadow", secret.Name)
	case old == nil || shadow.Managed(old):
		return nil
	case secret == nil:
		return fmt.Errorf("an agent deletes Secret %s, which is no shadow", old.Name)
	}
	as := secret.DeepCopy()
	as.ObjectMeta = *old.ObjectMeta.DeepCopy()
	if !equality.Semantic.DeepEqual(old, as) || !maps.Equal(old.Labels, secret.Labels) {
		return fmt.Errorf("an agent changes Secret %s, which is no shadow", old.Name)
	}
	return nil
}

// sighted reads for the webhook, unless that is blind.
type sighted struct {
	kube.Reader
	s *State
}

// errBlind is what a webhook sees that reaches no API server.
var errBlind = errors.New("connection refused")

// Get implements kube.Reader.
func (r sighted) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if r.s.webhookBlind && r.s.unlucky(2) {
		return errBlind
	}
	return r.Reader.Get(ctx, key, obj, opts...)
}

// admitted looks at a Pod that the webhook lets through.
func (s *State) admitted(p *corev1.Pod) {
	for _, ref := range references.Find(&p.Spec) {
		var secret corev1.Secret
		err := s.world.Admin().Get(context.Background(), client.ObjectKey{Namespace: Namespace, Name: *ref.Name}, &secret)
		if err == nil && protected.Enabled(&secret) && !shadow.Managed(&secret) {
			s.breaks(webhookRefuses, fmt.Errorf("the webhook lets Pod %s through with Secret %s itself in %s", p.Name, secret.Name, ref.Field))
		}
	}
}

func matches(resource string) admission.Match {
	return admission.Match{
		Operations: []admission.Operation{admission.Create, admission.Update},
		Groups:     []string{""}, Versions: []string{"v1"}, Resources: []string{resource},
	}
}

func answer(err error) admission.Answer {
	if err == nil {
		return admission.Answer{}
	}
	return admission.Deny(err.Error())
}
