package registry

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateSpread(c *corev1.TopologySpreadConstraint, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.MaxSkew <= 0 {
		errs = append(errs, field.Invalid(p.Child("maxSkew"), c.MaxSkew, "must be greater than zero"))
	}
	if c.TopologyKey == "" {
		errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, supported(p.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
}

const selectsNothing = ": a null labelSelector results in matching no pod"

// warnPodSpec returns warnings about a valid pod, or template of pods, at p; which is
// nil for a pod.
func warnPodSpec(notes map[string]string, s *corev1.PodSpec, p *field.Path) []string {
	template := p != nil
	metadata, p := p.Child("metadata", "annotations"), p.Child("spec")
	out := warnLabels(s, p)
	nothing := func(selector *metav1.LabelSelector, at *field.Path) {
		if selector == nil {
			out = append(out, at.Child("labelSelector").String()+selectsNothing)
		}
	}
	for i := range s.TopologySpreadConstraints {
		nothing(s.TopologySpreadConstraints[i].LabelSelector, p.Child("topologySpreadConstraints").Index(i))
	}
	for _, dead := range deadAnnotations {
		if _, ok := notes[dead.key]; ok {
			out = append(out, metadata.Key(dead.key).String()+": "+dead.instead)
		}
	}
	out = append(out, warnReferences(s, p)...)
	out = append(out, warnProfiles(notes, s, template, metadata)...)
	out = append(out, warnContainers(s, p)...)
	if g := s.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		out = append(out, p.Child("terminationGracePeriodSeconds").String()+": must be >= 0; negative values are invalid and will be treated as 1")
	}
	if s.Affinity == nil {
		return out
	}
	terms := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, at *field.Path) {
		for i := range required {
			nothing(required[i].LabelSelector, at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))
		}
		for i := range preferred {
			nothing(preferred[i].PodAffinityTerm.LabelSelector, at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"))
		}
	}
	if a := s.Affinity.PodAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, p.Child("affinity", "podAffinity"))
	}
	if a := s.Affinity.PodAntiAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, p.Child("affinity", "podAntiAffinity"))
	}
	return out
}

// warnTemplate returns warnings about the pods that an object makes, when they
// are written for the first time or change.
func warnTemplate(template func(Object) (*corev1.PodTemplateSpec, *field.Path)) func(obj, old Object) []string {
	return func(obj, old Object) []string {
		_, ofNodes := obj.(*appsv1.DaemonSet)
		switch {
		case old == nil:
		case ofNodes && templateGeneration(obj) == templateGeneration(old), !ofNodes && obj.GetGeneration() == old.GetGeneration():
			return nil
		}
		t, p := template(obj)
		var out []string
		if old == nil && !ofNodes { // whose pods are not called after it
			out = warnName(obj)
		}
		return append(out, warnPodSpec(t.Annotations, &t.Spec, p)...)
	}
}

// warnName warns of names that make poor host names.
func warnName(obj Object) []string {
	if plainName(obj.GetName()) {
		return nil
	}
	if msgs := validation.IsDNS1123Label(obj.GetName()); len(msgs) > 0 {
		return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", msgs)}
	}
	return nil
}

var templatePath = field.NewPath("spec", "template")
