package cloak

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
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
	hosts  []string // that have an address, in the order in which they were named

	changed []SecretConfig       // as Secrets are now, where that is not as at first
	foreign map[types.UID]string // Secrets of somebody else in the place of shadows, by their names

	webhookDown  bool
	webhookBlind bool                 // some of its reads fail
	rogue        bool                 // a server that nobody trusts answers as well
	mute         bool                 // no server answers
	values       map[ValueName][]byte // that a Secret has had
	leaks        leaks.Index
	breaches     map[string]error
	events       int
}

// System returns the system for registration.
func System() scenarios.System {
	return scenarios.System{
		Name:       "cloak",
		Doc:        "Secrets that applications never see: workloads hold placeholders, and the real values appear on the wire only, in TLS records to where they may go.",
		Config:     defaults(),
		Check:      scenarios.CheckWith(check),
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
		values: map[ValueName][]byte{}, breaches: map[string]error{}, foreign: map[types.UID]string{}, rogue: c.Rogue,
	}
	if err := s.furnish(); err != nil {
		return nil, err
	}
	s.hook()
	for _, n := range w.Cluster.Nodes() {
		s.addNode(n.Name())
	}
	w.Cluster.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "runtime", Main: s.runRuntime})
	w.Cluster.Deploy(cluster.WorkloadSpec{Kind: cluster.DaemonSet, Name: "agent", Main: s.runAgent})
	for _, secret := range c.Secrets {
		if err := s.putSecret(secret); err != nil {
			return nil, err
		}
	}
	for i, p := range c.Pods {
		if p.Node == "" {
			p.Node = s.nodes[i%len(s.nodes)].name
		}
		s.works = append(s.works, &work{config: p, node: s.byName[p.Node], addr: netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i + 1)}), wanted: true})
	}
	w.ControlPlane().Process(cluster.ProcessSpec{Name: "workloads", Main: s.runWorkloads})
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
			s.breaks(webhookRefuses, fmt.Errorf("Pod %s is let through with Secret %s itself in %s", p.Name, secret.Name, ref.Field))
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
