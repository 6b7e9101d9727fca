package registry

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/shape"
)

// Validation of pods and pod templates.

func validatePodTemplate(t *corev1.PodTemplateSpec, p *field.Path) field.ErrorList {
	errs := labelMap(t.Labels, p.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(t.Annotations, p.Child("annotations"))...)
	errs = append(errs, validatePodAnnotations(t.Annotations, &t.Spec, p.Child("annotations"))...)
	errs = append(errs, validatePodSpec(&t.Spec, p.Child("spec"))...)
	errs = append(errs, validateNotesAndFields(t.Annotations, &t.Spec, p.Child("spec"))...)
	if len(t.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

func validatePodSpec(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	volumes, errs := validateVolumes(s.Volumes, p.Child("volumes"))
	taken := map[string]bool{}
	errs = append(errs, validateMainContainers(s, volumes, taken, p.Child("containers"))...)
	errs = append(errs, validateInitContainers(s, volumes, taken, p.Child("initContainers"))...)
	errs = append(errs, validateEphemerals(s, volumes, taken, p.Child("ephemeralContainers"))...)
	errs = append(errs, oneOf(p.Child("restartPolicy"), s.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	errs = append(errs, oneOf(p.Child("dnsPolicy"), s.DNSPolicy,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)...)
	errs = append(errs, labelMap(s.NodeSelector, p.Child("nodeSelector"))...)
	errs = append(errs, validatePodSecurity(s.SecurityContext, s, p.Child("securityContext"))...)
	errs = append(errs, validateAffinity(s.Affinity, p.Child("affinity"))...)
	errs = append(errs, validateDNS(s, p.Child("dnsConfig"))...)
	errs = append(errs, validateGates(s, p)...)
	for i := range s.TopologySpreadConstraints {
		errs = append(errs, validateSpread(&s.TopologySpreadConstraints[i], p.Child("topologySpreadConstraints").Index(i))...)
	}
	errs = append(errs, validateHostProcess(s, p)...)
	errs = append(errs, validateHost(s, p)...)
	errs = append(errs, validatePodNames(s, p)...)
	if d := s.ActiveDeadlineSeconds; d != nil && (*d < 1 || *d > math.MaxInt32) {
		errs = append(errs, field.Invalid(p.Child("activeDeadlineSeconds"), *d, validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	errs = append(errs, validateTolerations(s.Tolerations, p.Child("tolerations"))...)
	if s.PreemptionPolicy != nil {
		errs = append(errs, oneOf(p.Child("preemptionPolicy"), *s.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	if s.Overhead != nil {
		errs = append(errs, validateResources(&corev1.ResourceRequirements{Limits: s.Overhead}, p.Child("overhead"))...)
	}
	return append(errs, validateSystem(s, p)...)
}

// validatePodNames checks the names that a pod has, and those of what it refers to.
func validatePodNames(s *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	subdomain := func(name, value string) {
		if value == "" || plainSubdomain(value) {
			return
		}
		for _, msg := range apivalidation.NameIsDNSSubdomain(value, false) {
			errs = append(errs, field.Invalid(p.Child(name), value, msg))
		}
	}
	subdomain("serviceAccountName", s.ServiceAccountName)
	subdomain("nodeName", s.NodeName)
	for _, host := range []struct{ name, value string }{{"hostname", s.Hostname}, {"subdomain", s.Subdomain}} {
		if host.value != "" {
			errs = append(errs, dnsLabel(host.value, p.Child(host.name))...)
		}
	}
	subdomain("priorityClassName", s.PriorityClassName)
	if s.RuntimeClassName != nil {
		for _, msg := range apivalidation.NameIsDNSSubdomain(*s.RuntimeClassName, false) {
			errs = append(errs, field.Invalid(p.Child("runtimeClassName"), *s.RuntimeClassName, msg))
		}
	}
	return errs
}

// validateScheduling checks that a new pod is not both on a node and held back.
func validateScheduling(s *corev1.PodSpec) field.ErrorList {
	if s.NodeName != "" && len(s.SchedulingGates) > 0 {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "nodeName"), "cannot be set until all schedulingGates have been cleared")}
	}
	return nil
}

// validateWholePod is validatePodSpec for a pod, of which more is known than of a
// template.
func validateWholePod(s *corev1.PodSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := validatePodSpec(s, p)
	if s.ServiceAccountName == "" {
		for i := range s.Volumes {
			if s.Volumes[i].Projected == nil {
				continue
			}
			for j, source := range s.Volumes[i].Projected.Sources {
				if source.ServiceAccountToken != nil {
					errs = append(errs, field.Forbidden(p.Child("volumes").Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
						"must not be specified when serviceAccountName is not set"))
				}
			}
		}
	}
	errs = append(errs, validateImages(s.Containers, p.Child("containers"))...)
	return append(errs, validateImages(s.InitContainers, p.Child("initContainers"))...)
}

// oneOf checks an enumerated value; without one it is required.
func oneOf[T ~string](p *field.Path, value T, allowed ...T) field.ErrorList {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return field.ErrorList{field.NotSupported(p, value, allowed)}
}

// supported is oneOf for values of which the empty one is merely another wrong one.
func supported[T ~string](p *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(p, value, allowed)}
}

func validateTolerations(list []corev1.Toleration, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		t, at := &list[i], p.Index(i)
		if t.Key != "" && !plainKey(t.Key) {
			errs = append(errs, unversioned.ValidateLabelName(t.Key, at.Child("key"))...)
		}
		if t.Key == "" && t.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		switch t.Operator {
		case corev1.TolerationOpExists:
			if t.Value != "" {
				errs = append(errs, field.Invalid(at.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'"))
			}
		case corev1.TolerationOpEqual, "":
			for _, msg := range validation.IsValidLabelValue(t.Value) {
				errs = append(errs, field.Invalid(at.Child("operator"), t.Value, msg))
			}
		default:
			errs = append(errs, supported(at.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)...)
		}
		if t.Effect != "" {
			errs = append(errs, oneOf(at.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		}
	}
	return errs
}

var podSpecShape = shape.Of(&corev1.Pod{}, shape.Protobuf).Part("spec")

// mutablePodFields is the end of the message about a change that is not allowed.
const mutablePodFields = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

func validatePodUpdate(p, was *corev1.Pod) field.ErrorList {
	errs := validateChangedNotes(p, was)
	if podSpecShape.Equal(p, was) {
		return errs
	}
	spec := field.NewPath("spec")
	errs = append(errs, validateWholePod(&p.Spec)...)
	if len(p.Spec.Containers) != len(was.Spec.Containers) {
		return append(errs, field.Forbidden(spec.Child("containers"), "pod updates may not add or remove containers"))
	}
	if len(p.Spec.InitContainers) != len(was.Spec.InitContainers) {
		return append(errs, field.Forbidden(spec.Child("initContainers"), "pod updates may not add or remove containers"))
	}
	errs = append(errs, validateDeadline(p.Spec.ActiveDeadlineSeconds, was.Spec.ActiveDeadlineSeconds, spec.Child("activeDeadlineSeconds"))...)
	errs = append(errs, onlyAddedTolerations(p.Spec.Tolerations, was.Spec.Tolerations, spec.Child("tolerations"))...)
	errs = append(errs, onlyRemovedGates(p.Spec.SchedulingGates, was.Spec.SchedulingGates, spec.Child("schedulingGates"))...)

	// Whatever may change is taken from the old pod; nothing else may differ.
	rest := &corev1.Pod{Spec: *p.Spec.DeepCopy()}
	for i := range rest.Spec.Containers {
		rest.Spec.Containers[i].Image = was.Spec.Containers[i].Image
	}
	for i := range rest.Spec.InitContainers {
		rest.Spec.InitContainers[i].Image = was.Spec.InitContainers[i].Image
	}
	rest.Spec.ActiveDeadlineSeconds = was.Spec.ActiveDeadlineSeconds
	rest.Spec.SchedulingGates = was.Spec.SchedulingGates
	rest.Spec.Tolerations = was.Spec.Tolerations
	if len(was.Spec.SchedulingGates) > 0 {
		errs = append(errs, onlyAddedSelectors(p.Spec.NodeSelector, was.Spec.NodeSelector, spec.Child("nodeSelector"))...)
		rest.Spec.NodeSelector = was.Spec.NodeSelector
		keepNodeAffinity(&rest.Spec, &was.Spec)
	}
	if !podSpecShape.Equal(rest, was) {
		errs = append(errs, field.Forbidden(spec, "pod updates may not change fields other than "+mutablePodFields))
	}
	return errs
}

// keepNodeAffinity gives s the node affinity of was, which a gated pod may change.
func keepNodeAffinity(s, was *corev1.PodSpec) {
	var before *corev1.NodeAffinity
	if was.Affinity != nil {
		before = was.Affinity.NodeAffinity
	}
	switch a := s.Affinity; {
	case a == nil && before == nil:
	case a == nil:
		s.Affinity = &corev1.Affinity{NodeAffinity: before}
	case was.Affinity == nil && a.PodAffinity == nil && a.PodAntiAffinity == nil:
		s.Affinity = nil
	default:
		a.NodeAffinity = before
	}
}

func validateDeadline(d, was *int64, p *field.Path) field.ErrorList {
	switch {
	case d == nil && was != nil:
		return field.ErrorList{field.Invalid(p, d, "must not update from a positive integer to nil value")}
	case d == nil:
		return nil
	case *d < 0 || *d > math.MaxInt32:
		return field.ErrorList{field.Invalid(p, *d, validation.InclusiveRangeError(0, math.MaxInt32))}
	case was != nil && *was < *d:
		return field.ErrorList{field.Invalid(p, *d, "must be less than or equal to previous value")}
	}
	return nil
}

func onlyAddedTolerations(list, was []corev1.Toleration, p *field.Path) field.ErrorList {
	for i := range was {
		found := false
		for j := range list {
			a, b := was[i], list[j]
			a.TolerationSeconds, b.TolerationSeconds = nil, nil // these may change
			found = found || a == b
		}
		if !found {
			return field.ErrorList{field.Forbidden(p, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

func onlyRemovedGates(list, was []corev1.PodSchedulingGate, p *field.Path) field.ErrorList {
	var errs field.ErrorList
next:
	for i := range list {
		for j := range was {
			if list[i].Name == was[j].Name {
				continue next
			}
		}
		errs = append(errs, field.Forbidden(p.Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", list[i].Name)))
	}
	return errs
}

func onlyAddedSelectors(m, was map[string]string, p *field.Path) field.ErrorList {
	for k, v := range was {
		if w, ok := m[k]; !ok || w != v {
			return field.ErrorList{field.Invalid(p, m, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")}
		}
	}
	return nil
}
