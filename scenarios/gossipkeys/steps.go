package gossipkeys

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// SetKeysArgs is the list an operator writes.
type SetKeysArgs struct {
	Keys []KeyName `yaml:"keys" form:"required,short" doc:"Names of the keys, the primary first: order is meaning."`
}

// SetTextArgs is what an operator types instead of keys.
type SetTextArgs struct {
	Text SecretText `yaml:"text" form:"short" doc:"The entry's new content, taken as it is, but for {K1}, which stands for the line of that key; empty or left out empties it."`
}

// RotateArgs says how to rotate.
type RotateArgs struct {
	To     KeyName            `yaml:"to" form:"required,short" doc:"Name of the new key."`
	Within scenarios.Duration `yaml:"within" doc:"The virtual time within which the rotation must be complete; without it the story goes on at once."`
}

// RolloutArgs are the flags that all agents are restarted with.
type RolloutArgs struct {
	AcceptPlaintext bool `yaml:"acceptPlaintext" doc:"Accept gossip that is not encrypted."`
	SendPlaintext   bool `yaml:"sendPlaintext" doc:"Do not encrypt what is sent."`
}

func steps() []scenarios.StepKind {
	return append([]scenarios.StepKind{
		scenarios.NewStep("setKeys", "An operator writes a list of keys into the Secret, making it if need be.",
			"gossipkeys.setKeys: [K1, K2]", setKeys),
		scenarios.NewStep("setText", "An operator writes something else where the keys should be.",
			"gossipkeys.setText: garbage", setText),
		scenarios.NewStep("rotate", "An operator starts a rotation; the rotator takes it through its gated steps.",
			"gossipkeys.rotate: {to: K2, within: 20m}", rotate),
		scenarios.NewStep("rollout", "Restarts all agents, one node after the other, with other verify flags.",
			"gossipkeys.rollout: {acceptPlaintext: true}", rollout),
		scenarios.NewStep("shutDown", "Asks an agent to end, as a kubelet does; it is started again afterwards.",
			"gossipkeys.shutDown: node-2", shutDown),
	}, attacks()...)
}

// ShutDownArgs says whose agent ends.
type ShutDownArgs struct {
	Node scenarios.NodeName `yaml:"node" form:"required,short" doc:"The agent's node."`
}

func shutDown(st *scenarios.Story, s *State, args ShutDownArgs) error {
	n := s.byName[st.Node(args.Node)]
	st.Tell(n.name, "asks the agent of %s to end", n.name)
	if n.shutDown != nil {
		n.shutDown()
	}
	return nil
}

func setKeys(st *scenarios.Story, s *State, args SetKeysArgs) error {
	keys, err := s.ledger.list(args.Keys)
	if err != nil {
		return err
	}
	st.Tell("Secret", "writes the keys %v into the Secret", args.Keys)
	return s.edit(text(keys))
}

func setText(st *scenarios.Story, s *State, args SetTextArgs) error {
	data, err := s.ledger.fill(args.Text)
	if err != nil {
		return err
	}
	st.Tell("Secret", "writes %q where the keys should be", args.Text)
	return s.edit(data)
}

// edit writes the entry as an operator does who looks at nothing else.
func (s *State) edit(data []byte) error {
	ctx, admin := context.Background(), s.world.Admin()
	var secret corev1.Secret
	err := admin.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: gossipkeys.SecretName}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		secret = corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: gossipkeys.SecretName},
			Data:       map[string][]byte{gossipkeys.DataKey: data},
		}
		err = admin.Create(ctx, &secret)
	case err == nil:
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[gossipkeys.DataKey] = data
		err = admin.Update(ctx, &secret)
	}
	if err != nil {
		return fmt.Errorf("write the Secret: %w", err)
	}
	return nil
}

// rotate runs the operator's command, which is a process of its own, until it
// has started the rotation, and then waits for the end if asked to.
func rotate(st *scenarios.Story, s *State, args RotateArgs) error {
	fresh, err := s.ledger.key(args.To)
	if err != nil {
		return err
	}
	st.Tell("Secret", "asks for a rotation to %s", args.To)
	started := s.command(func(ctx context.Context, env *cluster.Env) error {
		rotator := gossipkeys.NewRotator(env.Kube, env.Kube, env.Clock, env.Entropy, Namespace, gossipkeys.WithLogger(s.logOf(env)))
		return rotator.StartWith(ctx, fresh)
	})
	if args.Within.Std() == 0 {
		return nil
	}
	done := func() (bool, error) {
		keys := s.history.last().keys
		return *started && len(keys) == 1 && keys[0].Equal(fresh), nil
	}
	if ok, err := st.WaitUntil("rotation", args.Within.Std(), done); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("the rotation to %s is not complete within %v", args.To, args.Within.Std()))
	}
	return nil
}

// command runs a command of an operator as a process of its own, again and
// again until it succeeds: the operator tries once more after an error, and
// after whatever kills the process.
func (s *State) command(do func(context.Context, *cluster.Env) error) (succeeded *bool) {
	s.commands++
	succeeded = new(bool)
	var process *cluster.Process
	process = s.world.ControlPlane().Process(cluster.ProcessSpec{
		Name: fmt.Sprintf("operator-%d", s.commands), User: user(rotatorUser), Restart: cluster.Restart{Max: retryCommand},
		Main: func(ctx context.Context, env *cluster.Env) {
			for {
				err := do(ctx, env)
				if err == nil {
					break
				}
				env.Log.Info("The command fails, and is tried again", "why", err.Error())
				if env.Clock.Sleep(ctx, retryCommand) != nil {
					return
				}
			}
			*succeeded = true
			env.Touch()
			s.world.Engine().After(0, func(any) { process.Stop() }, nil)
		},
	})
	return succeeded
}

// retryCommand is how long an operator waits before trying again.
const retryCommand = 10 * time.Second

func rollout(st *scenarios.Story, s *State, args RolloutArgs) error {
	st.Tell("agent", "restarts the agents with acceptPlaintext %v and sendPlaintext %v", args.AcceptPlaintext, args.SendPlaintext)
	s.agents.Rollout(func(ctx context.Context, env *cluster.Env) {
		n := s.byName[env.Node]
		n.acceptsPlaintext, n.sendsPlaintext = args.AcceptPlaintext, args.SendPlaintext
		s.runAgent(ctx, env)
	})
	restarted := func() (bool, error) {
		for _, n := range s.nodes {
			if n.acceptsPlaintext != args.AcceptPlaintext || n.sendsPlaintext != args.SendPlaintext || !n.up() {
				return false, nil
			}
		}
		return true, nil
	}
	within := time.Duration(len(s.nodes)+10) * 10 * time.Second
	if ok, err := st.WaitUntil("rollout", within, restarted); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("the agents are not back within %v", within))
	}
	return nil
}
