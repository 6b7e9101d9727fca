package encryption

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/scenarios"
)

type groupResource = schema.GroupResource

// PolicyArgs are changes of the policy.
type PolicyArgs struct {
	Type      string             `yaml:"type" enum:"unset identity aescbc aesgcm" doc:"The type of new keys; see useKMS for KMS."`
	Reason    string             `yaml:"reason" doc:"Another reason asks for another key."`
	Resources []string           `yaml:"resources" doc:"What is to be encrypted."`
	Interval  scenarios.Duration `yaml:"interval" doc:"How long a key writes."`
	State     string             `yaml:"state" enum:"Managed Unmanaged Removed" doc:"Whether the controllers do anything."`
}

func steps() []scenarios.StepKind {
	return slices.Concat([]scenarios.StepKind{
		scenarios.NewStep("policy", "An administrator changes the policy.", "encryption.policy: {type: aescbc}", changePolicy),
		scenarios.NewStep("hostile", "An operator does harm for a while: edits and deletes what he can, pulls plugs, freezes leaders.", "encryption.hostile: {for: 24h, every: 1m..40m}", beHostile),
	}, handSteps(), kmsSteps(), worldSteps())
}

func changePolicy(st *scenarios.Story, s *State, args PolicyArgs) error {
	st.Tell("policy", "changes the policy: %s", args.String())
	return s.editPolicy(args.apply)
}

// String says what changes.
func (a PolicyArgs) String() string {
	text := ""
	add := func(name, value string) {
		if value != "" {
			text += name + " " + value + " "
		}
	}
	add("type", a.Type)
	add("reason", a.Reason)
	add("state", a.State)
	if a.Interval > 0 {
		add("interval", a.Interval.String())
	}
	if len(a.Resources) > 0 {
		add("resources", fmt.Sprint(a.Resources))
	}
	return text
}

func (a PolicyArgs) apply(spec *v1alpha1.EncryptionPolicySpec) {
	switch a.Type {
	case "":
	case "unset":
		spec.Type, spec.KMS = v1alpha1.TypeUnset, nil
	default:
		spec.Type, spec.KMS = v1alpha1.EncryptionType(a.Type), nil
	}
	if a.Reason != "" {
		spec.Rotation.Reason = a.Reason
	}
	if a.Interval > 0 {
		spec.Rotation.Interval = &metav1.Duration{Duration: a.Interval.Std()}
	}
	if a.State != "" {
		spec.ManagementState = v1alpha1.ManagementState(a.State)
	}
	if len(a.Resources) > 0 {
		spec.Resources = nil
		for _, r := range a.Resources {
			spec.Resources = append(spec.Resources, v1alpha1.Resource(schema.ParseGroupResource(r)))
		}
	}
}

// editPolicy changes the policy's spec as an administrator does.
func (s *State) editPolicy(change func(*v1alpha1.EncryptionPolicySpec)) error {
	policy := &v1alpha1.EncryptionPolicy{}
	if err := s.operator.Get(background, client.ObjectKey{Name: v1alpha1.PolicyName}, policy); err != nil {
		return fmt.Errorf("get the policy: %w", err)
	}
	change(&policy.Spec)
	if err := s.operator.Update(background, policy); err != nil {
		return fmt.Errorf("change the policy: %w", err)
	}
	return nil
}
