package encryption

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption/config"
	"github.com/seedbed-sim/seedbed/core/encryption/state"
	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// PreflightConfigName is the name of the Secret that the workload is given.
const PreflightConfigName = "kms-preflight-encryption-config"

// NewKMSPreflightController returns the controller that tries KMS plugins before keys
// are made for them. What it tries is what Key asks for; see [v1alpha1.KMSPreflightRequired].
//
// It knows of existing plugins by the key Secrets, and has the new one tried beside
// them.
//
// Ours: a check that failed is made again after a while, for the fault may have been
// elsewhere; and a workload of another configuration is removed whatever has become
// of it.
func NewKMSPreflightController(c *Component, deployer KMSPreflightDeployer) kube.Controller {
	p := &preflightController{Component: c, deployer: deployer}
	r := &reconciler{
		Component: c, name: "EncryptionKMSPreflight", degraded: v1alpha1.KMSPreflightDegraded,
		owned: []string{v1alpha1.KMSPreflightInProgress}, sync: p.sync,
	}
	return r.controller()
}

type preflightController struct {
	*Component
	deployer KMSPreflightDeployer

	failed failures
	clean  bool // nothing is left of the last workload
}

// failures are those of an attempt.
type failures struct {
	attempt attempt
	count   int       // of workloads that followed a failed one
	at      time.Time // of the last; zero if a workload has followed
}

// preflightBackoff are the times between a failure and the next workload.
var preflightBackoff = [...]time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute}

// wait notes a failure, and returns how long to leave it.
func (f *failures) wait(a attempt, now time.Time) time.Duration {
	if f.attempt != a {
		*f = failures{attempt: a}
	}
	if f.at.IsZero() {
		f.at = now
	}
	return preflightBackoff[min(f.count, len(preflightBackoff)-1)] - now.Sub(f.at)
}

// again notes that a workload follows.
func (f *failures) again() { f.count, f.at = f.count+1, time.Time{} }

func (p *preflightController) sync(ctx context.Context, policy *v1alpha1.EncryptionPolicy, out *outcome) error {
	s := situation{now: p.Clock.Now(), kms: policy.Spec.Type == v1alpha1.TypeKMS}
	var snap *snapshot
	if asked, ok := required(policy); ok && s.kms {
		var err error
		if snap, err = p.snapshot(ctx, policy); err != nil {
			return err
		}
		if s.required = snap.hash == asked.hash; s.required { // else Key is about to ask anew
			s.wanted, s.verdict = asked, verdict(policy, asked)
		}
	}
	status, err := p.deployer.Status(ctx)
	switch {
	case err == nil:
		s.pod, p.clean = &status, false
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("ask for the pod that tries the KMS plugin: %w", err)
	}
	return p.act(ctx, policy, s.decide(&p.failed), s, snap, out)
}

// act carries out what was decided.
func (p *preflightController) act(ctx context.Context, policy *v1alpha1.EncryptionPolicy, d decision, s situation, snap *snapshot, out *outcome) error {
	out.after, out.degraded = d.after, d.problem
	if d.progressing {
		out.set(v1alpha1.KMSPreflightInProgress, metav1.ConditionTrue, "RunningPreflightCheck", "")
	}
	if d.verdict != "" {
		if err := p.pronounce(ctx, policy, d.verdict, d.reason, s.wanted); err != nil {
			return err
		}
	}
	if !s.required {
		if err := p.retract(ctx, policy); err != nil {
			return err
		}
	}
	switch {
	case d.cleanup && !p.clean:
		if err := p.deployer.Cleanup(ctx); err != nil {
			return fmt.Errorf("remove the pod that tries the KMS plugin: %w", err)
		}
		p.clean = true
	case d.deploy:
		cfg, err := p.candidate(ctx, policy, snap)
		if err != nil {
			return err
		}
		if err := p.deployer.Deploy(ctx, s.wanted.String(), cfg); err != nil {
			return fmt.Errorf("deploy the pod that tries the KMS plugin: %w", err)
		}
		p.clean = false
	}
	return nil
}

// pronounce writes a verdict, unless it is known.
func (p *preflightController) pronounce(ctx context.Context, policy *v1alpha1.EncryptionPolicy, status metav1.ConditionStatus, reason string, a attempt) error {
	out := &outcome{conditions: []metav1.Condition{{
		Type: v1alpha1.KMSPreflightSucceeded, Status: status, Reason: reason, Message: a.hash, ObservedGeneration: a.number,
	}}}
	return p.applyStatus(ctx, policy, p.Name+"-"+v1alpha1.KMSPreflightSucceeded, out)
}

// retract takes the verdict back once Key says that none is wanted.
func (p *preflightController) retract(ctx context.Context, policy *v1alpha1.EncryptionPolicy) error {
	asked := apimeta.FindStatusCondition(policy.Status.Conditions, v1alpha1.KMSPreflightRequired)
	had := apimeta.FindStatusCondition(policy.Status.Conditions, v1alpha1.KMSPreflightSucceeded)
	if asked == nil || asked.Status != metav1.ConditionFalse || had == nil || had.Reason == ReasonNotRequired {
		return nil
	}
	return p.pronounce(ctx, policy, metav1.ConditionFalse, ReasonNotRequired, attempt{"", had.ObservedGeneration})
}

// candidate is the configuration that the workload is given: the plugins that there
// are, and the new one as the newest.
func (p *preflightController) candidate(ctx context.Context, policy *v1alpha1.EncryptionPolicy, snap *snapshot) (*corev1.Secret, error) {
	stored, err := p.storedKeys(ctx)
	if err != nil {
		return nil, err
	}
	highest := uint64(policy.Status.HighestKeyID)
	var keys []state.Key
	for i := range stored {
		highest = max(highest, stored[i].id())
		if stored[i].err == nil {
			keys = append(keys, stored[i].key)
		}
	}
	grs := p.Provider.EncryptedGRs()
	read := []state.Key{{ID: highest + 1, Mode: state.KMS, Material: state.NoMaterial(), KMS: snap.data}}
	for _, k := range state.Retained(grs, state.NewestFirst(keys)) {
		if k.Mode == state.KMS && !slices.Contains(givenUp(policy), k.ID) {
			read = append(read, k)
		}
	}
	cfg := make(state.State, len(grs))
	for i, gr := range grs {
		cfg[i] = state.Resource{GroupResource: gr, Read: read}
	}
	return config.Encode(cfg, client.ObjectKey{Namespace: p.Namespace, Name: PreflightConfigName})
}
