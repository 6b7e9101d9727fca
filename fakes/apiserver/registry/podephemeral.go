package registry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// PrepareEphemeral returns what a write to pods/ephemeralcontainers makes of the stored
// pod, and whether that is nothing: only ephemeral containers are taken from what was
// sent.
func PrepareEphemeral(obj, old Object) (out Object, same bool) {
	sent := obj.(*corev1.Pod)
	p := beside(sent, old.(*corev1.Pod))
	p.Spec.EphemeralContainers = sent.Spec.EphemeralContainers
	return regenerated(p, old)
}

// beside returns what a write to a part of a pod leaves beside that part: spec, status
// and most of the metadata are as they were. Of the rest validation speaks.
func beside(sent, was *corev1.Pod) *corev1.Pod {
	p := shape.ShallowCopy(sent).(*corev1.Pod)
	p.Spec, p.Status = was.Spec, was.Status
	metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &was.ObjectMeta)
	return p
}

// regenerated counts a change of the spec.
func regenerated(p *corev1.Pod, old Object) (out Object, same bool) {
	if podSpecShape.Equal(p, old) {
		return p, true
	}
	p.Generation = old.GetGeneration() + 1
	return p, false
}

// ValidateEphemeral checks that ephemeral containers have only been added.
func ValidateEphemeral(obj, old Object) field.ErrorList {
	p, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	if mirror(was) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	spec := field.NewPath("spec")
	errs := validatePodSpec(&p.Spec, spec)
	at := spec.Child("ephemeralContainers")
	now := map[string]*corev1.EphemeralContainer{}
	for i := range p.Spec.EphemeralContainers {
		now[p.Spec.EphemeralContainers[i].Name] = &p.Spec.EphemeralContainers[i]
	}
	for i := range was.Spec.EphemeralContainers {
		before := &was.Spec.EphemeralContainers[i]
		switch c := now[before.Name]; {
		case c == nil:
			errs = append(errs, field.Forbidden(at, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", before.Name)))
		case !equality.Semantic.DeepEqual(before, c):
			errs = append(errs, field.Forbidden(at, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", before.Name, diff.Diff(before, c))))
		}
	}
	return errs
}

// mirror reports whether a pod only shows what a kubelet runs by itself.
func mirror(p *corev1.Pod) bool {
	_, ok := p.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// validateEphemerals checks ephemeral containers, which have less than others. Taken
// are the names of those.
func validateEphemerals(s *corev1.PodSpec, volumes podVolumes, taken map[string]bool, p *field.Path) field.ErrorList {
	list := s.EphemeralContainers
	if len(list) == 0 {
		return nil
	}
	containers := make([]corev1.Container, len(list))
	others := make(map[string]bool, len(taken))
	for name := range taken {
		others[name] = true
	}
	for i := range list {
		containers[i] = corev1.Container(list[i].EphemeralContainerCommon)
	}
	errs := validateContainers(containers, s, volumes, taken, p)
	for i := range list {
		at := p.Index(i)
		if target := list[i].TargetContainerName; target != "" && !others[target] {
			errs = append(errs, field.NotFound(at.Child("targetContainerName"), target))
		}
		errs = append(errs, notEphemeral(&list[i].EphemeralContainerCommon, at)...)
	}
	return errs
}

// notEphemeral complains about what a container has that is not there to debug.
func notEphemeral(c *corev1.EphemeralContainerCommon, at *field.Path) field.ErrorList {
	const refusal = "cannot be set for an Ephemeral Container"
	var errs field.ErrorList
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"ports", c.Ports != nil},
		{"resources", c.Resources.Limits != nil || c.Resources.Requests != nil || c.Resources.Claims != nil},
		{"resizePolicy", c.ResizePolicy != nil},
		{"restartPolicy", c.RestartPolicy != nil},
		{"restartPolicyRules", c.RestartPolicyRules != nil},
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
		{"lifecycle", c.Lifecycle != nil},
	} {
		if f.set {
			errs = append(errs, field.Forbidden(at.Child(f.name), refusal))
		}
	}
	for i, m := range c.VolumeMounts {
		if m.SubPath != "" {
			errs = append(errs, field.Forbidden(at.Child("volumeMounts").Index(i).Child("subPath"), refusal))
		}
		if m.SubPathExpr != "" {
			errs = append(errs, field.Forbidden(at.Child("volumeMounts").Index(i).Child("subPathExpr"), refusal))
		}
	}
	return errs
}
