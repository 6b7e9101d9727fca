package encryption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/sim/cluster"
)

type applyConfiguration = runtime.ApplyConfiguration

// observedDeployer sees what is done about checks.
type observedDeployer struct {
	encryption.KMSPreflightDeployer
	state *State
	env   *cluster.Env
}

// Deploy implements encryption.KMSPreflightDeployer.
func (d *observedDeployer) Deploy(ctx context.Context, hash string, cfg *corev1.Secret) error {
	s := d.state
	if k := s.underWay(); k != nil {
		s.breaks(noChecks, fmt.Errorf("a check is made while not everything is rewritten with %s", keyName(*k)))
	}
	if s.kms.looked {
		s.breaks(oneCheck, errors.New("a check is made while the Pod of another is there"))
	}
	if err := validConfig(cfg); err != nil {
		s.breaks(configsValid, err)
	}
	return d.KMSPreflightDeployer.Deploy(ctx, hash, cfg)
}

// Status implements encryption.KMSPreflightDeployer.
func (d *observedDeployer) Status(ctx context.Context) (corev1.PodStatus, error) {
	status, err := d.KMSPreflightDeployer.Status(ctx)
	if err == nil || apierrors.IsNotFound(err) {
		d.state.kms.looked = err == nil
	}
	return status, err
}

// underWay is the newest key if not everything is rewritten with it; nil if it is. Where
// API servers have a newer one, whose Secret is gone, none is: another is due at once.
func (s *State) underWay() *state.Key {
	keys := s.history.keys()
	if len(keys) == 0 || s.history.edited[keys[0].ID] || s.history.last().config == nil {
		return nil
	}
	if grs := s.lastResources(); len(grs) == 0 || keys[0].Migrated.HasAll(grs) {
		return nil
	}
	if read := s.history.last().config.ReadKeys(); len(read) > 0 && read[0].ID > keys[0].ID {
		return nil
	}
	return &keys[0]
}

// judgeCheck judges the Pod of a check that somebody makes.
func (s *State) judgeCheck(run *checkRun) {
	for _, other := range s.kms.pods {
		if other != run && !other.gone {
			s.breaks(oneCheck, errors.New("there are two Pods that check a KMS plugin"))
		}
	}
}

// judgePolicy judges what is written into the status of the policy.
func (s *State) judgePolicy(before, now *v1alpha1.EncryptionPolicy) {
	if now.Status.HighestKeyID < before.Status.HighestKeyID && s.history.writer != restorer {
		s.breaks(idsUnique, fmt.Errorf("the highest id falls from %d to %d", before.Status.HighestKeyID, now.Status.HighestKeyID))
	}
	s.judgeGivenUp(before, now)
	for _, kind := range []string{v1alpha1.KMSPreflightRequired, v1alpha1.KMSPreflightSucceeded} {
		manager := Component + "-" + kind // its own
		was, is := apimeta.FindStatusCondition(before.Status.Conditions, kind), apimeta.FindStatusCondition(now.Status.Conditions, kind)
		if is == nil && was == nil || is != nil && was != nil && *is == *was {
			continue
		}
		if s.history.writer == controllersUser && s.history.manager != manager {
			s.breaks(ownConditions, fmt.Errorf("the condition %s is written by %s", kind, s.history.manager))
		}
		if kind == v1alpha1.KMSPreflightSucceeded && is != nil && is.Status == metav1.ConditionTrue && !s.passedBefore(fmt.Sprintf("%s.%d", is.Message, is.ObservedGeneration)) {
			s.breaks(ownConditions, fmt.Errorf("the condition %s is True, and no check of that attempt has passed", kind))
		}
	}
}

// judgeApproval judges a key of a KMS plugin that is made.
func (s *State) judgeApproval(k *storedKey) {
	if k.key.Mode != state.KMS {
		return
	}
	required, succeeded := s.condition(v1alpha1.KMSPreflightRequired), s.condition(v1alpha1.KMSPreflightSucceeded)
	attempt := fmt.Sprintf("%s.%d", required.Message, required.ObservedGeneration)
	switch {
	case required.Status != metav1.ConditionTrue:
		s.breaks(approvedKeys, fmt.Errorf("%s is made while no check is asked for", keyName(k.key)))
	case succeeded.Status != metav1.ConditionTrue || succeeded.Message != required.Message || succeeded.ObservedGeneration != required.ObservedGeneration:
		s.breaks(approvedKeys, fmt.Errorf("%s is made, and what has passed is another attempt than what is asked for", keyName(k.key)))
	case !s.passedBefore(attempt):
		s.breaks(approvedKeys, fmt.Errorf("%s is made, and no check has passed", keyName(k.key)))
	case !slices.ContainsFunc(s.kms.pods, func(r *checkRun) bool { return r.hash == attempt && r.passed && sameData(r.data, k.key.KMS) }):
		s.breaks(approvedKeys, fmt.Errorf("%s is made of another configuration than the one that passed", keyName(k.key)))
	}
}

func sameData(a, b *state.KMSData) bool {
	return a != nil && b != nil && a.Plugin == b.Plugin && fmt.Sprint(state.References(a.Secrets)) == fmt.Sprint(state.References(b.Secrets)) &&
		slices.EqualFunc(state.References(a.Secrets), state.References(b.Secrets), func(x, y state.Reference) bool { return a.Secrets[x].Equal(b.Secrets[y]) })
}

// candidateOf is what the newest plugin of a check is run with.
func candidateOf(given *corev1.Secret) *state.KMSData {
	parsed, err := config.Decode(given)
	if err != nil {
		return nil
	}
	for _, k := range parsed.ReadKeys() {
		if k.Mode == state.KMS {
			return k.KMS
		}
	}
	return nil
}

// judgePlugins compares what plugins are run with wherever that is written.
func (s *State) judgePlugins(where string, secret *corev1.Secret) {
	parsed, err := config.Decode(secret)
	if err != nil {
		return
	}
	for _, k := range parsed.ReadKeys() {
		if k.Mode != state.KMS || k.KMS == nil {
			continue
		}
		stored := s.history.find(k.ID)
		if stored == nil || stored.err != nil || s.history.edited[k.ID] || stored.key.KMS == nil {
			continue
		}
		switch have := stored.key.KMS; {
		case k.KMS.Version > have.Version:
			s.breaks(pluginsAgree, fmt.Errorf("%s has version %d of the plugin of key %d, whose Secret has %d", where, k.KMS.Version, k.ID, have.Version))
		case k.KMS.Version == have.Version && !sameData(k.KMS, have):
			s.breaks(pluginsAgree, fmt.Errorf("%s has another plugin for key %d than the Secret of the key", where, k.ID))
		}
	}
}

// judgeUpdate judges a change of what the plugin of a key is run with.
func (s *State) judgeUpdate(before, now *storedKey) {
	if was, is := before.key.KMS, now.key.KMS; was != nil && is != nil && !sameData(was, is) && is.Version <= was.Version {
		s.breaks(pluginsAgree, fmt.Errorf("what the plugin of key %d is run with changes, and is of version %d as before: nobody can tell which came later", now.key.ID, was.Version))
	}
}

// find is the Secret of the key with that id; nil if there is none.
func (h *history) find(id uint64) *storedKey {
	for _, k := range h.all() {
		if theirs, _ := state.ParseID(k.secret.Name); theirs == id {
			return k
		}
	}
	return nil
}

// checksDoNotBlock is L2 and L7: once everything is well, a plugin that is wanted is
// approved in the end.
func (s *State) checksDoNotBlock() error {
	required := s.condition(v1alpha1.KMSPreflightRequired)
	if s.policy.Spec.Type != v1alpha1.TypeKMS || required.Status != metav1.ConditionTrue {
		return nil
	}
	if s.kms.next != noCheckFault || strings.HasPrefix(s.policy.Spec.KMS.Plugin.Image, brokenImage) {
		return nil // it cannot pass
	}
	return fmt.Errorf("the KMS plugin is still to be checked; the last check says %s", s.condition(v1alpha1.KMSPreflightSucceeded).Reason)
}

// checksCleanedUp is L5. Who leads, and what API servers run, may have changed, or who
// leads was frozen: the next look of the controllers is what counts.
func (s *State) checksCleanedUp() error {
	if s.leading() == nil {
		s.leaderless = s.world.Engine().Elapsed()
	}
	if s.leading() == nil || s.policy.Spec.ManagementState != v1alpha1.Managed {
		return nil // nobody is there to do it
	}
	for _, r := range s.kms.pods {
		if r.gone || !r.passed {
			continue
		}
		due := max(r.ended+encryption.PreflightRetention, s.leadsSince, s.leaderless, s.differed, s.policy.asked) + encryption.Resync + lookTakes
		if now := s.world.Engine().Elapsed(); now > due {
			return fmt.Errorf("the Pod of a check that passed is still there after %s", (now - r.ended).Round(time.Second))
		}
	}
	return nil
}

// judgeCleanup judges that controllers delete the Pod of a check: one that passed stays
// for as long as it is about what the policy asks for.
func (s *State) judgeCleanup(run *checkRun) {
	now := s.world.Engine().Elapsed()
	if !run.passed || now-run.ended >= encryption.PreflightRetention || s.policy.Spec.Type != v1alpha1.TypeKMS || now-s.policy.asked < staleFor {
		return
	}
	required := s.condition(v1alpha1.KMSPreflightRequired)
	if required.Status == metav1.ConditionTrue && fmt.Sprintf("%s.%d", required.Message, required.ObservedGeneration) != run.hash {
		return // it is in the way of the next
	}
	if !slices.Contains([]corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded}, run.pod.Status.Phase) {
		return // it ended badly after its report, or nobody knows
	}
	s.breaks(checkCleanedUp, fmt.Errorf("the Pod of a check that passed is deleted after %s", (now-run.ended).Round(time.Second)))
}

// lookTakes is how long a look of a controller may take, with requests that go wrong and
// are made again.
const lookTakes = 30 * time.Second
