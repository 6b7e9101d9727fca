package registry

import (
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var budgets = &Kind{
	GroupVersionKind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	Names:            Names{Plural: "poddisruptionbudgets", ShortNames: []string{"pdb"}},
	Prototype:        &policyv1.PodDisruptionBudget{},
	Naming:           pathName,
	LooseMetadata:    true,
	LateMetadata:     true,
	Generation:       SpecOnly,
	Write:            WriteRules{PutNeedsVersion: true},
	Status:           &Status{Validate: validateBudgetStatus},
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validateBudget(&obj.(*policyv1.PodDisruptionBudget).Spec)
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validateBudget(&obj.(*policyv1.PodDisruptionBudget).Spec)
	},
}

func validateBudget(s *policyv1.PodDisruptionBudgetSpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if s.MinAvailable != nil && s.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(p, printedBudget(*s), "minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, shareOfPods(s.MinAvailable, p.Child("minAvailable"))...)
	errs = append(errs, shareOfPods(s.MaxUnavailable, p.Child("maxUnavailable"))...)
	errs = append(errs, unversioned.ValidateLabelSelector(s.Selector, unversioned.LabelSelectorValidationOptions{}, p.Child("selector"))...)
	if policy := s.UnhealthyPodEvictionPolicy; policy != nil {
		errs = append(errs, supported(p.Child("unhealthyPodEvictionPolicy"), *policy, policyv1.AlwaysAllow, policyv1.IfHealthyBudget)...)
	}
	return errs
}

func validateBudgetStatus(_ *Context, obj, _ Object) field.ErrorList {
	s := &obj.(*policyv1.PodDisruptionBudget).Status
	p := field.NewPath("status")
	errs := unversioned.ValidateConditions(s.Conditions, p.Child("conditions"))
	errs = append(errs, nonNegative(s.DisruptionsAllowed, p.Child("disruptionsAllowed"))...)
	errs = append(errs, nonNegative(s.CurrentHealthy, p.Child("currentHealthy"))...)
	errs = append(errs, nonNegative(s.DesiredHealthy, p.Child("desiredHealthy"))...)
	return append(errs, nonNegative(s.ExpectedPods, p.Child("expectedPods"))...)
}

// printedBudget is how a real server prints the specification.
type printedBudget struct {
	MinAvailable               *intstr.IntOrString
	Selector                   *metav1.LabelSelector
	MaxUnavailable             *intstr.IntOrString
	UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
}

var priorityClasses = &Kind{
	GroupVersionKind: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"),
	Names:            Names{Plural: "priorityclasses", ShortNames: []string{"pc"}},
	Cluster:          true,
	Prototype:        &schedulingv1.PriorityClass{},
	Generation:       Fixed,
	Default: func(obj Object) {
		pc := obj.(*schedulingv1.PriorityClass)
		if pc.PreemptionPolicy == nil {
			pc.PreemptionPolicy = preemptLower()
		}
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		pc, was := obj.(*schedulingv1.PriorityClass), old.(*schedulingv1.PriorityClass)
		var errs field.ErrorList
		if pc.Value != was.Value {
			errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
		}
		return append(errs, fixed(pc.PreemptionPolicy, was.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
	},
}

func priorityClass(c *Context, name string) (*schedulingv1.PriorityClass, bool) {
	o, ok := c.Peers.Peer(priorityClassResource, "", name)
	if !ok {
		return nil, false
	}
	return o.(*schedulingv1.PriorityClass), true
}

// defaultPriorityClass returns the class for pods that name none.
func defaultPriorityClass(c *Context) *schedulingv1.PriorityClass {
	var best *schedulingv1.PriorityClass
	for _, o := range c.Peers.Peers(priorityClassResource, "") {
		if pc := o.(*schedulingv1.PriorityClass); pc.GlobalDefault && (best == nil || pc.Value < best.Value) {
			best = pc
		}
	}
	return best
}
