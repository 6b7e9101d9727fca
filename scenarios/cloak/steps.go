package cloak

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/internal/hostile"
)

func steps() []scenarios.StepKind {
	return []scenarios.StepKind{
		scenarios.NewStep("secret", "Somebody makes a Secret that is to be protected, or changes it.",
			"cloak.secret: {name: db, value: V2, hosts: db.example.com}", func(st *scenarios.Story, s *State, args SecretConfig) error {
				st.Tell(args.Name, "gives Secret %s the value %s, for hosts %q and port %q", args.Name, args.Value, args.Hosts, args.Port)
				return s.putSecret(args)
			}),
		scenarios.NewStep("disable", "Somebody takes the label off a Secret.",
			"cloak.disable: db", disable),
		scenarios.NewStep("forge", "Somebody edits the placeholder of a Secret to be that of another.",
			"cloak.forge: {name: b, as: a}", forge),
		scenarios.NewStep("stop", "A workload is to run no more.",
			"cloak.stop: web", func(st *scenarios.Story, s *State, args PodArgs) error { return s.want(st, args.Pod, false) }),
		scenarios.NewStep("run", "A workload is to run again.",
			"cloak.run: web", func(st *scenarios.Story, s *State, args PodArgs) error { return s.want(st, args.Pod, true) }),
		scenarios.NewStep("hostile", "For a while things go wrong, one after the other, drawn from: "+strings.Join(hostile.Names(harms), ", ")+". Then all is made well, and all workloads are restarted.",
			"cloak.hostile: {for: 1h}", beHostile),
		scenarios.NewStep("restartContainer", "The container of a Pod ends, and another takes its place.",
			"cloak.restartContainer: web", restartContainer),
		scenarios.NewStep("upgrade", "The agent of a node is replaced by one whose maps have another layout.",
			"cloak.upgrade: node-1", upgrade),
		scenarios.NewStep("nri", "The container runtime of a node serves NRI, or no more.",
			"cloak.nri: {node: node-1, served: false}", serveNRI),
		scenarios.NewStep("plane", "Calls of the data plane of a node fail, or seem to, or take their time.",
			"cloak.plane: {node: node-1, refuses: true}", conductPlane),
		scenarios.NewStep("unreadable", "The caches of all agents do not give away objects of some types; of all again if none is named.",
			"cloak.unreadable: {types: [EndpointSliceList]}", unreadable),
		scenarios.NewStep("dnsPods", "The Pods of the cluster's DNS server are replaced by others.",
			"cloak.dnsPods: {numbers: [2, 3]}", dnsPods),
		scenarios.NewStep("move", "A host gets other addresses.",
			"cloak.move: api.example.com", move),
		scenarios.NewStep("hangUp", "The container runtime of a node closes the connection of its plugin.",
			"cloak.hangUp: node-1", hangUp),
		scenarios.NewStep("webhook", "The webhook goes down, or comes back.",
			"cloak.webhook: {down: true}", func(st *scenarios.Story, s *State, args WebhookArgs) error {
				st.Tell("webhook", "the webhook is down: %t; it cannot read: %t", args.Down, args.Blind)
				s.webhookDown, s.webhookBlind = args.Down, args.Blind
				return nil
			}),
	}
}

// NameArgs names a Secret.
type NameArgs struct {
	Name string `yaml:"name" form:"required,short" doc:"The Secret's name."`
}

// ForgeArgs says whose placeholder becomes whose.
type ForgeArgs struct {
	Name string `yaml:"name" form:"required" doc:"The Secret whose placeholder is changed."`
	As   string `yaml:"as" form:"required" doc:"The Secret whose placeholder it gets."`
}

// PodArgs names a workload.
type PodArgs struct {
	Pod string `yaml:"pod" form:"required,short" doc:"The Pod's name."`
}

// NodeArgs names a node.
type NodeArgs struct {
	Node scenarios.NodeName `yaml:"node" form:"required,short" doc:"The node."`
}

// WebhookArgs says how the webhook is.
type WebhookArgs struct {
	Down  bool `yaml:"down" doc:"Whether it is down."`
	Blind bool `yaml:"blind" doc:"Whether some of its reads fail."`
}

// putSecret makes a Secret, or changes it.
func (s *State) putSecret(c SecretConfig) error {
	value := s.learn(c.Value)
	return s.edit(c.Name, func(secret *corev1.Secret) {
		secret.Labels = map[string]string{cloak.AnnotationSecretEnabled: "true"}
		if secret.Annotations == nil {
			secret.Annotations = map[string]string{}
		}
		for key, text := range map[string]string{cloak.AnnotationHosts: c.Hosts, cloak.AnnotationPort: c.Port} {
			if secret.Annotations[key] = text; text == "" {
				delete(secret.Annotations, key)
			}
		}
		secret.Data = map[string][]byte{"k": value}
	})
}

// edit changes a Secret of the workloads, making it if need be.
func (s *State) edit(name string, change func(*corev1.Secret)) error {
	ctx, admin := context.Background(), s.world.Admin()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	err := admin.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	change(secret)
	if missing {
		err = admin.Create(ctx, secret)
	} else {
		err = admin.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", name, err)
	}
	return nil
}

func disable(st *scenarios.Story, s *State, args NameArgs) error {
	st.Tell(args.Name, "takes the label off Secret %s", args.Name)
	return s.edit(args.Name, func(secret *corev1.Secret) { delete(secret.Labels, cloak.AnnotationSecretEnabled) })
}

func forge(st *scenarios.Story, s *State, args ForgeArgs) error {
	st.Tell(args.Name, "gives Secret %s the placeholder of Secret %s", args.Name, args.As)
	p := s.placeholderOf(args.As)
	if p == "" {
		return fmt.Errorf("there is no placeholder of Secret %s", args.As)
	}
	return s.edit(args.Name+"-kloak", func(secret *corev1.Secret) { secret.Data["k"] = []byte(p) })
}

// want says whether a workload is to run.
func (s *State) want(st *scenarios.Story, name string, wanted bool) error {
	for _, w := range s.works {
		if w.config.Name == name {
			st.Tell(name, "workload %s is to run: %t", name, wanted)
			w.wanted = wanted
			return nil
		}
	}
	return fmt.Errorf("there is no workload %s", name)
}

func hangUp(st *scenarios.Story, s *State, args NodeArgs) error {
	n := s.byName[st.Node(args.Node)]
	st.Tell(n.name, "the runtime of %s closes the connection of its plugin", n.name)
	n.runtime.HangUp()
	return nil
}

func restartContainer(st *scenarios.Story, s *State, args PodArgs) error {
	w := s.workOf(args.Pod)
	if w == nil || w.run == nil {
		return fmt.Errorf("workload %s does not run", args.Pod)
	}
	st.Tell(args.Pod, "the container of %s ends", args.Pod)
	w.ended = true
	w.node.enqueue(w)
	return nil
}

func upgrade(st *scenarios.Story, s *State, args NodeArgs) error {
	n := s.byName[st.Node(args.Node)]
	st.Tell(n.name, "the agent of %s is upgraded", n.name)
	n.layout++
	s.world.Cluster.Process(n.name + "/agent").Restart(time.Second)
	return nil
}

// ServedArgs says whether NRI is served.
type ServedArgs struct {
	Node   scenarios.NodeName `yaml:"node" form:"required" doc:"The node."`
	Served bool               `yaml:"served" doc:"Whether NRI is served."`
}

func serveNRI(st *scenarios.Story, s *State, args ServedArgs) error {
	n := s.byName[st.Node(args.Node)]
	st.Tell(n.name, "the runtime of %s serves NRI: %t", n.name, args.Served)
	n.runtime.SetServed(args.Served)
	return nil
}

// PlaneArgs say how the data plane of a node is.
type PlaneArgs struct {
	Node    scenarios.NodeName `yaml:"node" form:"required" doc:"The node."`
	Refuses bool               `yaml:"refuses" doc:"One of four calls fails."`
	Forgets bool               `yaml:"forgets" doc:"One of four calls seems to fail."`
	Takes   *scenarios.Span    `yaml:"takes" doc:"How long each call takes."`
}

func conductPlane(st *scenarios.Story, s *State, args PlaneArgs) error {
	n := s.byName[st.Node(args.Node)]
	st.Tell(n.name, "calls of the data plane of %s fail: %t, seem to fail: %t", n.name, args.Refuses, args.Forgets)
	n.refuses, n.forgets, n.plane = args.Refuses, args.Forgets, args.Takes
	return nil
}

// TypesArgs names types of objects.
type TypesArgs struct {
	Types []string `yaml:"types" doc:"Types of objects or lists, such as SecretList."`
}

func unreadable(st *scenarios.Story, s *State, args TypesArgs) error {
	st.Tell("caches", "of all caches these cannot be read: %v", args.Types)
	for _, n := range s.nodes {
		n.unreadable = args.Types
	}
	return nil
}

// DNSPodsArgs say which Pods are the cluster's DNS server.
type DNSPodsArgs struct {
	Numbers []int `yaml:"numbers" doc:"The numbers of those that answer from now on."`
	Quietly bool  `yaml:"quietly" doc:"Nobody says so in the EndpointSlice."`
}

func dnsPods(st *scenarios.Story, s *State, args DNSPodsArgs) error {
	st.Tell("dns", "the Pods of the DNS server are %v; the EndpointSlice says so: %t", args.Numbers, !args.Quietly)
	s.names.endpoints = args.Numbers
	if args.Quietly {
		return nil
	}
	return s.publish()
}

// HostArgs names a host.
type HostArgs struct {
	Host string `yaml:"host" form:"required,short" doc:"The host."`
}

func move(st *scenarios.Story, s *State, args HostArgs) error {
	st.Tell(args.Host, "%s gets other addresses", args.Host)
	s.names.moves++
	s.addressesOf(args.Host)
	s.settle(args.Host, 100+s.names.moves)
	return nil
}
