package registry

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validatePriorityClass(obj.(*schedulingv1.PriorityClass))
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

// systemPriorities are the classes that every cluster has.
var systemPriorities = map[string]int32{"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}

const mostPriority = 1000000000

func validatePriorityClass(pc *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	why := ""
	value, known := systemPriorities[pc.Name]
	switch {
	case !strings.HasPrefix(pc.Name, "system-"):
		if pc.Value > mostPriority {
			errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", mostPriority)))
		}
	case !known:
		why = pc.Name + " is not a known system priority class"
	case pc.Value != value:
		why = fmt.Sprintf("value of %s PriorityClass must be %d", pc.Name, value)
	case pc.GlobalDefault:
		why = fmt.Sprintf("globalDefault of %s PriorityClass must be false", pc.Name)
	}
	if why != "" {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only. error: "+why))
	}
	if pc.PreemptionPolicy != nil {
		errs = append(errs, oneOf(field.NewPath("preemptionPolicy"), *pc.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	return errs
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
