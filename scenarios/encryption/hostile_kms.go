package encryption

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/scenarios/internal/hostile"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// kmsHarms are what may be done about KMS plugins. What is broken heals some time
// later, and at the latest when the harm is over: until then nobody could be blamed.
var kmsHarms = []hostile.Harm[hand]{
	hostile.Of("kms", 6, harmKMS),
	hostile.Of("kms-image", 2, harmImage),
	hostile.Of("kms-fault", 5, harmKMSFault),
	hostile.Of("check-fault", 3, harmCheckFault),
	hostile.Of("check-deleted", 1, harmCheckDeleted),
	hostile.Of("credential-replaced", 3, harmCredential),
	hostile.Of("credential-deleted", 1, harmCredentialDeleted),
	hostile.Of("kek-rotated", 3, harmKEK),
}

func harmKMS(s hand) (string, error) {
	args := KMSArgs{Path: pick(s.draw, []string{"blue", "green", "red"}), Plain: s.draw.Intn(4) == 0}
	if err := s.ensureCredential(); err != nil {
		return "", err
	}
	return "wants the KMS key " + args.Path, s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) { p.Type, p.KMS = v1alpha1.TypeKMS, args.spec() })
}

func harmImage(s hand) (string, error) {
	if s.policy.Spec.KMS == nil {
		return "", nil
	}
	image := fmt.Sprintf("example.com/kms-plugin:%d", 1+s.draw.Intn(5))
	return "wants the image " + image, s.editPolicy(func(p *v1alpha1.EncryptionPolicySpec) {
		if p.KMS != nil {
			p.KMS.Plugin.Image = image
		}
	})
}

// heals is how long something stays broken.
func heals(draw *engine.Stream) time.Duration {
	return draw.Duration(engine.Dist{Min: 5 * time.Second, Mean: 8 * time.Minute, Max: 90 * time.Minute})
}

func harmKMSFault(s hand) (string, error) {
	what, node := pickName(s.draw, kmsFaults), anyPlugin
	if s.draw.Intn(2) == 0 {
		node = pick(s.draw, s.nodes).name
	}
	d, key := heals(s.draw), faultKey(node, anyPlugin)
	s.kms.faults[key] = kmsFaults[what]()
	s.kms.broken++
	mine := s.kms.broken
	s.kms.brokenBy[key] = mine
	s.behaveAll()
	s.world.Engine().After(d, func(any) {
		if s.kms.brokenBy[key] == mine {
			delete(s.kms.faults, key)
			s.behaveAll()
		}
	}, nil)
	return fmt.Sprintf("lets KMS plugins on %s be %s for %s", node, what, d.Round(time.Second)), nil
}

func harmCheckFault(s hand) (string, error) {
	s.kms.next = pick(s.draw, []checkFault{
		noCheckFault, checkNotPulled, checkUnscheduled, checkKilledEarly, checkKilledLate, checkSilent, checkRefused, checkNodeLost, checkCoexistence, checkTakesForever,
	})
	mine, d := s.kms.next, heals(s.draw)
	s.world.Engine().After(d, func(any) {
		if s.kms.next == mine {
			s.kms.next = noCheckFault
		}
	}, nil)
	return fmt.Sprintf("lets checks fare like this for %s: %q", d.Round(time.Second), mine), nil
}

func harmCheckDeleted(s hand) (string, error) {
	if !slices.ContainsFunc(s.kms.pods, func(r *checkRun) bool { return !r.gone }) {
		return "", nil
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: checkPod}}
	return "deletes the Pod of the check", s.operator.Delete(background, pod, client.GracePeriodSeconds(0))
}

func harmCredential(s hand) (string, error) {
	before, revoke := s.kms.current, s.draw.Intn(3) == 0
	err := s.writeCredential(s.newCredential(revoke))
	s.behaveAll()
	if !revoke {
		return "replaces the credential of KMS plugins", err
	}
	d := heals(s.draw)
	s.world.Engine().After(d, func(any) {
		s.kms.accepted[before] = true
		s.behaveAll()
	}, nil)
	return fmt.Sprintf("replaces the credential of KMS plugins; the one before is revoked for %s", d.Round(time.Second)), err
}

func harmCredentialDeleted(s hand) (string, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: References, Name: credentialSecret}}
	return "deletes the Secret with the credential", s.operator.Delete(background, secret)
}

func harmKEK(s hand) (string, error) {
	if len(s.kms.vaults) == 0 {
		return "", nil
	}
	return "lets the service rotate its keys: " + s.rotateKEK(func() time.Duration { return s.draw.Duration(engine.Dist{Max: 3 * time.Minute}) }), nil
}

// heal ends all that is wrong with the service and its plugins.
func (s *State) heal() {
	clear(s.kms.faults)
	clear(s.kms.brokenBy)
	s.kms.next = noCheckFault
	for _, value := range s.kms.credentials {
		s.kms.accepted[value] = true
	}
	s.behaveAll()
}
