package preflightpod

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/encryption"
	"github.com/seedbed-sim/seedbed/core/encryption/keysecret"
	"github.com/seedbed-sim/seedbed/core/kube"
)

const (
	// Name is that of the Pod and of its ServiceAccount.
	Name = "kms-preflight"

	// HashAnnotation of the Pod has what it was deployed for.
	HashAnnotation = keysecret.Domain + "/config-hash"

	// Container is the one that checks.
	Container = "kms-preflight-check"
)

// Deployer makes the Pod. All fields are required.
type Deployer struct {
	Live kube.Kube

	// Namespace of the Pod and of the Secret that it is given.
	Namespace string

	// Spec returns what the Pod runs for a configuration, the hash of which it is to
	// report. Readiness gates, account and restart policy are filled in.
	Spec func(hash string, cfg *corev1.Secret) (corev1.PodSpec, error)
}

var _ encryption.KMSPreflightDeployer = (*Deployer)(nil)

// Deploy implements encryption.KMSPreflightDeployer.
func (d *Deployer) Deploy(ctx context.Context, hash string, cfg *corev1.Secret) error {
	spec, err := d.Spec(hash, cfg)
	if err != nil {
		return fmt.Errorf("render Pod %s: %w", Name, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: Name}}
	if err := d.Live.Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ServiceAccount %s: %w", Name, err)
	}
	if err := d.give(ctx, cfg); err != nil {
		return err
	}
	spec.RestartPolicy, spec.ServiceAccountName = corev1.RestartPolicyNever, Name
	spec.ReadinessGates = []corev1.PodReadinessGate{
		{ConditionType: encryption.KMSPreflightConfigHashPodCondition}, {ConditionType: encryption.KMSPreflightResultPodCondition},
		{ConditionType: encryption.KMSPreflightKEKIDPodCondition},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: Name, Annotations: map[string]string{HashAnnotation: hash}, Labels: map[string]string{"app": Name},
		},
		Spec: spec,
	}
	if err := d.Live.Create(ctx, pod); err != nil {
		return fmt.Errorf("create Pod %s: %w", Name, err)
	}
	return nil
}

// give creates the Secret with the configuration, in place of one of a process that died
// in between.
func (d *Deployer) give(ctx context.Context, cfg *corev1.Secret) error {
	given := cfg.DeepCopy()
	given.Finalizers = nil
	err := d.Live.Create(ctx, given)
	if apierrors.IsAlreadyExists(err) {
		if err := d.Live.Delete(ctx, given); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Secret %s: %w", given.Name, err)
		}
		given = cfg.DeepCopy()
		given.Finalizers = nil
		err = d.Live.Create(ctx, given)
	}
	if err != nil {
		return fmt.Errorf("create Secret %s: %w", given.Name, err)
	}
	return nil
}

// Status implements encryption.KMSPreflightDeployer.
func (d *Deployer) Status(ctx context.Context) (corev1.PodStatus, error) {
	pod := &corev1.Pod{}
	if err := d.Live.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: Name}, pod); err != nil {
		return corev1.PodStatus{}, err
	}
	status := pod.Status
	if status.StartTime == nil {
		status.StartTime = ptr.To(pod.CreationTimestamp)
	}
	for _, c := range status.Conditions {
		if c.Type == encryption.KMSPreflightConfigHashPodCondition {
			return status, nil
		}
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{
		Type: encryption.KMSPreflightConfigHashPodCondition, Status: corev1.ConditionTrue, Message: pod.Annotations[HashAnnotation],
	})
	return status, nil
}

// Cleanup implements encryption.KMSPreflightDeployer.
func (d *Deployer) Cleanup(ctx context.Context) error {
	for _, o := range []client.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: Name}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: encryption.PreflightConfigName}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: Name}},
	} {
		if err := d.Live.Delete(ctx, o, client.GracePeriodSeconds(0)); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// Permissions are the rules of the Role that the Pod's account needs in its namespace: it
// reports in the status of its own Pod.
func Permissions() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/status"}, ResourceNames: []string{Name}, Verbs: []string{"patch"}}}
}
