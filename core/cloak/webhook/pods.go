package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/references"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Refusal is the error for a request that is not to be stored.
type Refusal struct {
	// Retry is whether the same request may pass later, as controllers that make Pods
	// try again anyway.
	Retry   bool
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(format string, args ...any) error { return &Refusal{Message: fmt.Sprintf(format, args...)} }

func later(format string, args ...any) error {
	return &Refusal{Retry: true, Message: fmt.Sprintf(format, args...) + "; try again"}
}

// Pods is the mutating webhook.
type Pods struct {
	// Live reads Namespaces and Secrets. With a cache that lags behind, a Secret could
	// seem not to be protected.
	Live kube.Reader
}

// Mutate changes a Pod that is to be created, or whose ephemeral containers are, in
// place. Old is the Pod of before, nil on a create. A *[Refusal] refuses it.
//
//  1. The label of the Pod decides, or else that of its Namespace, whether the Pod takes
//     part; any value but "true" is no. A Namespace that cannot be read refuses.
//  2. Each reference to a Secret that is enabled is made one to its shadow. A shadow
//     that is missing or not ours refuses, and so does a reference that no placeholder
//     can stand in for.
//  3. References to shadows, to Secrets that are not enabled, and to none at all stay.
//  4. The annotation that the agents look at is set.
//
// It may be called again on its own result.
func (w *Pods) Mutate(ctx context.Context, namespace string, pod, old *corev1.Pod) error {
	enabled, err := w.enabled(ctx, namespace, pod)
	if err != nil || !enabled {
		return err
	}
	shadows := map[string]string{} // what each Secret becomes
	for _, ref := range references.Find(fresh(&pod.Spec, old)) {
		name := *ref.Name
		into, seen := shadows[name]
		if !seen {
			if into, err = w.resolve(ctx, types.NamespacedName{Namespace: namespace, Name: name}); err != nil {
				return err
			}
			shadows[name] = into
		}
		switch {
		case into == name:
		case !ref.Kubelet:
			return refuse("%s refers to Secret %s, which is protected; whoever reads it there would get placeholders: use another Secret", ref.Field, name)
		default:
			*ref.Name = into
		}
	}
	if old == nil {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[cloak.AnnotationEnabled] = "true"
	}
	return nil
}

// fresh returns the part of a Pod that is new: all of it, or on an update the ephemeral
// containers that were not there. What is there already cannot change.
func fresh(spec *corev1.PodSpec, old *corev1.Pod) *corev1.PodSpec {
	if old == nil {
		return spec
	}
	// The containers are shared, and those that are left out keep their places.
	part := &corev1.PodSpec{EphemeralContainers: spec.EphemeralContainers}
	known := func(name string) bool {
		return slices.ContainsFunc(old.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == name })
	}
	for i := range part.EphemeralContainers {
		if known(part.EphemeralContainers[i].Name) {
			part.EphemeralContainers = slices.Clone(part.EphemeralContainers)
			part.EphemeralContainers[i] = corev1.EphemeralContainer{}
		}
	}
	return part
}

func (w *Pods) enabled(ctx context.Context, namespace string, pod *corev1.Pod) (bool, error) {
	if value, ok := pod.Labels[cloak.AnnotationEnabled]; ok {
		return value == "true", nil
	}
	var ns corev1.Namespace
	if err := w.Live.Get(ctx, types.NamespacedName{Name: namespace}, &ns); err != nil {
		return false, later("Namespace %s could not be read: %v", namespace, err)
	}
	return ns.Labels[cloak.AnnotationEnabled] == "true", nil
}

// resolve returns the name that a reference to a Secret is to have.
func (w *Pods) resolve(ctx context.Context, name types.NamespacedName) (string, error) {
	var original, s corev1.Secret
	switch err := w.Live.Get(ctx, name, &original); {
	case apierrors.IsNotFound(err):
		// The kubelet says so, unless the reference is optional. It cannot get a real
		// value of a Secret that is protected from the start, for then the label is
		// there before the Pod starts; a race is told of by the reconciler.
		return name.Name, nil
	case err != nil:
		return "", later("Secret %s could not be read: %v", name.Name, err)
	case shadow.Managed(&original) || !protected.Enabled(&original):
		return name.Name, nil
	}
	into := shadow.NameOf(name.Name)
	switch err := w.Live.Get(ctx, types.NamespacedName{Namespace: name.Namespace, Name: into}, &s); {
	case apierrors.IsNotFound(err):
		return "", later("Secret %s is protected and has no shadow%s", name.Name, because(&original))
	case err != nil:
		return "", later("Secret %s could not be read: %v", into, err)
	case !shadow.Owned(&s, &original) || !s.DeletionTimestamp.IsZero():
		return "", later("Secret %s is protected, and Secret %s is not its shadow%s", name.Name, into, because(&original))
	}
	return into, nil
}

// because says why there is no shadow, if the Secret says so.
func because(s *corev1.Secret) string {
	if c, ok := shadow.ConditionOf(s); ok && c.Status != "True" {
		return ": " + strings.TrimSuffix(c.Message, ".")
	}
	return ""
}
