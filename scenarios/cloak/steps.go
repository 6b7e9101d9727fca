package cloak

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/scenarios"
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
		scenarios.NewStep("hostile", "For a while things go wrong, one after the other, drawn from: "+strings.Join(harmNames(), ", ")+". Then all is made well, and all workloads are restarted.",
			"cloak.hostile: {for: 1h}", hostile),
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
