package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/store"
)

// PodNodeName is the field selector that node agents use.
var PodNodeName = podField("spec.nodeName", func(p *corev1.Pod) string { return p.Spec.NodeName })

var pods = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"),
	Names:            Names{Plural: "pods", ShortNames: []string{"po"}, Categories: []string{"all"}},
	Prototype:        &corev1.Pod{},
	Generation:       SpecOnly,
	Delete:           DeleteRules{ReturnsObject: true, Grace: podGrace},
	PlainFieldError:  true,
	Fields: []*store.Field{
		PodNodeName,
		podField("spec.restartPolicy", func(p *corev1.Pod) string { return string(p.Spec.RestartPolicy) }),
		podField("spec.schedulerName", func(p *corev1.Pod) string { return p.Spec.SchedulerName }),
		podField("spec.serviceAccountName", func(p *corev1.Pod) string { return p.Spec.ServiceAccountName }),
		podField("spec.hostNetwork", func(p *corev1.Pod) string { return strconv.FormatBool(p.Spec.HostNetwork) }),
		podField("status.phase", func(p *corev1.Pod) string { return string(p.Status.Phase) }),
		podField("status.podIP", firstPodIP),
		podField("status.podIPs", func(*corev1.Pod) string { return "" }), // accepted, but always empty
		podField("status.nominatedNodeName", func(p *corev1.Pod) string { return p.Status.NominatedNodeName }),
	},
	Default: func(obj Object) { defaultPod(obj.(*corev1.Pod)) },
	Admit:   admitPod,
	Review:  reviewPod,
	Status: &Status{
		OnCreate: newPodStatus,
		Prepare:  preparePodStatus,
		Validate: validatePodStatus,
	},
	PrepareCreate: func(c *Context, obj Object) { adoptAppArmor(c, obj.(*corev1.Pod)) },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		p := obj.(*corev1.Pod)
		s := &p.Spec
		errs := validatePodAnnotations(p.Annotations, s, field.NewPath("metadata", "annotations"))
		errs = append(errs, validateWholePod(s)...)
		errs = append(errs, validateScheduling(s)...)
		errs = append(errs, validateNotesAndFields(p.Annotations, s, field.NewPath("spec"))...)
		if len(s.EphemeralContainers) > 0 {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "ephemeralContainers"), "cannot be set on create"))
		}
		return errs
	},
	ValidateUpdate: func(_ *Context, obj, old Object) field.ErrorList {
		return validatePodUpdate(obj.(*corev1.Pod), old.(*corev1.Pod))
	},
	Warn: func(obj, old Object) []string {
		if old != nil {
			return nil // nothing that is warned of may change
		}
		out := warnPodSpec(obj.GetAnnotations(), &obj.(*corev1.Pod).Spec, nil)
		if msgs := validation.IsDNS1123Label(obj.GetName()); len(msgs) > 0 {
			out = append([]string{fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", msgs)}, out...)
		}
		return out
	},
}

func podField(name string, get func(*corev1.Pod) string) *store.Field {
	return &store.Field{Name: name, Get: func(o Object) string { return get(o.(*corev1.Pod)) }}
}

func firstPodIP(p *corev1.Pod) string {
	if len(p.Status.PodIPs) == 0 {
		return ""
	}
	return p.Status.PodIPs[0].IP
}

func newPodStatus(c *Context, obj Object) {
	p := obj.(*corev1.Pod)
	if p.Spec.Resources != nil && len(p.Spec.Resources.Limits) > 0 {
		defaultWhole(p)
	}
	p.Status.Phase = corev1.PodPending
	if len(p.Spec.SchedulingGates) > 0 {
		p.Status.Conditions = []corev1.PodCondition{{
			Type:               corev1.PodScheduled,
			Status:             corev1.ConditionFalse,
			Reason:             corev1.PodReasonSchedulingGated,
			Message:            "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: c.Now,
		}}
	}
	p.Status.QOSClass = qosClass(p)
}

// qosClass is the class that the pod's requests and limits earn it.
func qosClass(p *corev1.Pod) corev1.PodQOSClass {
	guaranteed, any := true, false
	lists := [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers}
	if whole := p.Spec.Resources; whole != nil && len(whole.Requests)+len(whole.Limits) > 0 {
		lists = [][]corev1.Container{{{Resources: *whole}}} // what is said of the pod counts alone
	}
	for _, list := range lists {
		for i := range list {
			r := &list[i].Resources
			limits := 0
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				request, limit := r.Requests[name], r.Limits[name]
				if !request.IsZero() || !limit.IsZero() {
					any = true
				}
				if limit.IsZero() {
					continue
				}
				limits++
				if !request.IsZero() && request.Cmp(limit) != 0 {
					guaranteed = false
				}
			}
			guaranteed = guaranteed && limits == 2
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

func podGrace(obj Object, asked *int64) int64 {
	p := obj.(*corev1.Pod)
	period := int64(0)
	if asked != nil {
		period = *asked
	} else if p.Spec.TerminationGracePeriodSeconds != nil {
		period = *p.Spec.TerminationGracePeriodSeconds
	}
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	if period < 0 {
		return 1
	}
	return period
}

func preparePodStatus(_ *Context, obj, old Object) {
	p, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	p.DeletionTimestamp = nil // the old one is put back later
	p.OwnerReferences = was.OwnerReferences
	if p.Status.QOSClass == "" {
		p.Status.QOSClass = was.Status.QOSClass
	}
	if p.Status.ResourceClaimStatuses == nil {
		p.Status.ResourceClaimStatuses = was.Status.ResourceClaimStatuses
	}
	if p.Status.ExtendedResourceClaimStatus == nil {
		p.Status.ExtendedResourceClaimStatus = was.Status.ExtendedResourceClaimStatus
	}
	if p.Status.ObservedGeneration == 0 && was.Status.ObservedGeneration != 0 {
		p.Status.ObservedGeneration = was.Status.ObservedGeneration
	}
	keepObserved(&p.Status, &was.Status)
}

// keepObserved gives conditions that do not say which generation they are about the
// one that they were about. There may be several of a type.
func keepObserved(s, was *corev1.PodStatus) {
	if !slices.ContainsFunc(was.Conditions, func(c corev1.PodCondition) bool { return c.ObservedGeneration != 0 }) {
		return
	}
	before := map[corev1.PodConditionType][]int64{}
	for i := range was.Conditions {
		c := &was.Conditions[i]
		before[c.Type] = append(before[c.Type], c.ObservedGeneration)
	}
	s.Conditions = slices.Clone(s.Conditions)
	for i := range s.Conditions {
		c := &s.Conditions[i]
		old := before[c.Type]
		if len(old) == 0 {
			continue
		}
		before[c.Type] = old[1:]
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = old[0]
		}
	}
}

func validatePodStatus(_ *Context, obj, old Object) field.ErrorList {
	p, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	var errs field.ErrorList
	status := field.NewPath("status")
	if p.Status.NominatedNodeName != "" && was.Spec.NodeName != "" && p.Status.NominatedNodeName != was.Status.NominatedNodeName {
		errs = append(errs, field.Forbidden(status.Child("nominatedNodeName"), "may not be set on pods that are already bound to a node"))
	}
	errs = append(errs, validatePodAddresses(&p.Status, status)...)
	if p.Status.QOSClass != was.Status.QOSClass {
		errs = append(errs, field.Invalid(status.Child("qosClass"), p.Status.QOSClass, "field is immutable"))
	}
	// A container that has ended and is not to be restarted stays ended.
	if was.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		return errs
	}
	for _, before := range was.Status.ContainerStatuses {
		if before.State.Terminated == nil || was.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && before.State.Terminated.ExitCode != 0 {
			continue
		}
		for i, now := range p.Status.ContainerStatuses {
			if now.Name == before.Name && now.State.Terminated == nil {
				errs = append(errs, field.Forbidden(status.Child("containerStatuses").Index(i).Child("state"),
					"may not be transitioned to non-terminated state"))
			}
		}
	}
	return errs
}

// validatePodAddresses checks the addresses of a pod and of its node: one of each family.
func validatePodAddresses(s *corev1.PodStatus, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	own, host := make([]string, len(s.PodIPs)), make([]string, len(s.HostIPs))
	for i := range s.PodIPs {
		own[i] = s.PodIPs[i].IP
	}
	for i := range s.HostIPs {
		host[i] = s.HostIPs[i].IP
	}
	if len(host) > 0 && host[0] != s.HostIP {
		errs = append(errs, field.Invalid(p.Child("hostIPs").Index(0).Child("ip"), host[0], "must be equal to `hostIP`"))
	}
	for _, list := range []struct {
		name string
		ips  []string
		sent any
	}{{"podIPs", own, printedAddresses(own)}, {"hostIPs", host, printedAddresses(host)}} {
		at := p.Child(list.name)
		for i, ip := range list.ips {
			errs = append(errs, validation.IsValidIP(at.Index(i), ip)...)
		}
		if len(list.ips) > 1 && !(len(list.ips) == 2 && strings.Contains(list.ips[0], ":") != strings.Contains(list.ips[1], ":")) {
			errs = append(errs, field.Invalid(at, list.sent, "may specify no more than one IP for each IP family"))
		}
	}
	return errs
}

// printedAddresses is how a real server prints addresses.
func printedAddresses(ips []string) any {
	out := make([]struct{ IP string }, len(ips))
	for i, ip := range ips {
		out[i].IP = ip
	}
	return out
}

var podTemplates = &Kind{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("PodTemplate"),
	Names:            Names{Plural: "podtemplates"},
	Prototype:        &corev1.PodTemplate{},
	Generation:       Content,
	Delete:           DeleteRules{ReturnsObject: true},
	Default:          func(obj Object) { defaultPodTemplate(&obj.(*corev1.PodTemplate).Template) },
	Validate: func(_ *Context, obj Object) field.ErrorList {
		return validatePodTemplate(&obj.(*corev1.PodTemplate).Template, field.NewPath("template"))
	},
	ValidateUpdate: func(_ *Context, obj, _ Object) field.ErrorList {
		return validatePodTemplate(&obj.(*corev1.PodTemplate).Template, field.NewPath("template"))
	},
}

// admitPod does what the admission plug-ins LimitRanger, Priority and
// DefaultTolerationSeconds do.
func admitPod(c *Context, obj, old Object) error {
	p := obj.(*corev1.Pod)
	if old == nil {
		limitPod(c, p)
		if err := prioritize(c, p); err != nil {
			return err
		}
	} else {
		was := old.(*corev1.Pod)
		p.Spec.Priority, p.Spec.PreemptionPolicy = keep(p.Spec.Priority, was.Spec.Priority), keep(p.Spec.PreemptionPolicy, was.Spec.PreemptionPolicy)
	}
	tolerate(p)
	if old == nil {
		return applyRuntimeClass(c, p)
	}
	return nil
}

// reviewPod does what LimitRanger and RuntimeClass do about a new pod that is valid.
func reviewPod(c *Context, obj, old Object) error {
	if old != nil {
		return nil
	}
	p := obj.(*corev1.Pod)
	for _, r := range c.Peers.Peers(limitRangeResource, p.Namespace) {
		if err := checkLimits(r.(*corev1.LimitRange), p); err != nil {
			return forbidden(podResource, p, err.Error())
		}
	}
	return checkOverhead(c, p)
}

func keep[T any](now, was *T) *T {
	if now == nil {
		return was
	}
	return now
}

// tolerate adds the default tolerations for nodes that are not reachable.
func tolerate(p *corev1.Pod) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if tolerates(p.Spec.Tolerations, key) {
			continue
		}
		seconds := int64(300)
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
}

func tolerates(list []corev1.Toleration, key string) bool {
	for i := range list {
		t := &list[i]
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

// prioritize resolves the pod's priority class.
func prioritize(c *Context, p *corev1.Pod) error {
	priority, policy := int32(0), corev1.PreemptLowerPriority
	switch class := p.Spec.PriorityClassName; class {
	case "":
		if d := defaultPriorityClass(c); d != nil {
			p.Spec.PriorityClassName = d.Name
			priority = d.Value
			if d.PreemptionPolicy != nil {
				policy = *d.PreemptionPolicy
			}
		}
	case "system-cluster-critical":
		priority = 2000000000
	case "system-node-critical":
		priority = 2000001000
	default:
		pc, ok := priorityClass(c, class)
		if !ok {
			return forbidden(podResource, p, fmt.Sprintf("no PriorityClass with name %v was found", class))
		}
		priority = pc.Value
		if pc.PreemptionPolicy != nil {
			policy = *pc.PreemptionPolicy
		}
	}
	if p.Spec.Priority != nil && *p.Spec.Priority != priority {
		return forbidden(podResource, p, fmt.Sprintf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *p.Spec.Priority, priority))
	}
	p.Spec.Priority = &priority
	if p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy != policy {
		return forbidden(podResource, p, fmt.Sprintf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *p.Spec.PreemptionPolicy, policy))
	}
	p.Spec.PreemptionPolicy = &policy
	return nil
}
