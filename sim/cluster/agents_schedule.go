package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// enqueue hands a Pod to the scheduler, unless it is another's or not to be
// scheduled yet.
func (a *agents) enqueue(key types.NamespacedName, s *podState) {
	ours := s.pod.Spec.SchedulerName == corev1.DefaultSchedulerName && len(s.pod.Spec.SchedulingGates) == 0
	if ours && !s.queued {
		s.queued = true
		a.waiting = append(a.waiting, key)
	}
}

// schedule begins with the next Pod that waits, if the scheduler is free.
func (a *agents) schedule() {
	if a.busy || len(a.waiting) == 0 {
		return
	}
	a.busy = true
	a.c.eng.After(scheduleTime, func(any) {
		a.busy = false
		key := a.waiting[0]
		a.waiting = a.waiting[1:]
		if s := a.known[key]; s != nil && s.pod.Spec.NodeName == "" && s.pod.DeletionTimestamp == nil {
			a.place(key, s.pod)
		}
		a.schedule()
	}, nil)
}

// reconsider lets the Pods for which there was no node have another try.
func (a *agents) reconsider() {
	a.waiting = append(a.waiting, a.deferred...)
	a.deferred = nil
	a.wake()
}

// place binds a Pod to the node with the fewest Pods of those that fit.
func (a *agents) place(key types.NamespacedName, p *corev1.Pod) {
	var best *machine
	var reasons []string
	for _, m := range a.machines {
		if why := m.refuses(p); why != "" {
			reasons = append(reasons, why)
			continue
		}
		if best == nil || m.used.pods < best.used.pods {
			best = m
		}
	}
	if best == nil {
		a.postpone(key, p, fmt.Sprintf("0/%d nodes are available%s.", len(a.machines), tally(reasons)))
		return
	}
	if _, err := a.do(&apiserver.Request{
		Verb: apiserver.Create, Resource: podsResource, Subresource: "binding", Namespace: p.Namespace, Name: p.Name,
		Object: &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: best.node.Name},
		},
		Owned: true, UserAgent: "kube-scheduler",
	}); err != nil {
		return
	}
	a.tell(p, "default-scheduler", "", corev1.EventTypeNormal, "Scheduled", "",
		fmt.Sprintf("Successfully assigned %s/%s to %s", p.Namespace, p.Name, best.node.Name))
}

// postpone says why a Pod gets no node and waits for a change.
func (a *agents) postpone(key types.NamespacedName, p *corev1.Pod, why string) {
	a.deferred = append(a.deferred, key)
	now := metav1.NewTime(a.c.eng.Now())
	cond := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why, LastTransitionTime: now,
	}
	if slices.ContainsFunc(p.Status.Conditions, func(x corev1.PodCondition) bool { return x.Type == cond.Type && x.Message == why }) {
		return // said already
	}
	own := p.DeepCopy()
	setCondition(&own.Status, cond)
	if _, err := a.do(&apiserver.Request{
		Verb: apiserver.Update, Resource: podsResource, Subresource: "status", Namespace: p.Namespace, Name: p.Name,
		Object: own, Owned: true, UserAgent: "kube-scheduler",
	}); err == nil {
		a.tell(p, "default-scheduler", "", corev1.EventTypeWarning, "FailedScheduling", "", why)
	}
}

// tally counts equal reasons, in alphabetical order, as the real scheduler does.
func tally(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	slices.Sort(reasons)
	var parts []string
	for i := 0; i < len(reasons); {
		n := i
		for n < len(reasons) && reasons[n] == reasons[i] {
			n++
		}
		parts = append(parts, strconv.Itoa(n-i)+" "+reasons[i])
		i = n
	}
	return ": " + strings.Join(parts, ", ")
}

// refuses says why the machine cannot take the Pod, or nothing. What the scheduler
// does not model is a reason as well: better a Pod that waits and says why than one
// in the wrong place.
func (m *machine) refuses(p *corev1.Pod) string {
	switch aff := p.Spec.Affinity; {
	case aff != nil && aff.PodAffinity != nil && len(aff.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0,
		aff != nil && aff.PodAntiAffinity != nil && len(aff.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0:
		return "node(s) cannot be judged: the simulated scheduler does not model affinity between Pods"
	case slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	}):
		return "node(s) cannot be judged: the simulated scheduler does not model topology spread constraints"
	case m.node.Spec.Unschedulable:
		return "node(s) were unschedulable"
	}
	for _, t := range m.node.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(p, t) {
			return fmt.Sprintf("node(s) had untolerated taint(s) {%s: %s}", t.Key, t.Value)
		}
	}
	if !m.selected(p) {
		return "node(s) didn't match Pod's node affinity/selector"
	}
	need, have := chargeOf(p), m.node.Status.Allocatable
	switch {
	case m.used.pods+1 > have.Pods().Value():
		return "Too many pods"
	case m.used.cpu+need.cpu > have.Cpu().MilliValue():
		return "Insufficient cpu"
	case m.used.memory+need.memory > have.Memory().Value():
		return "Insufficient memory"
	}
	return ""
}

func tolerated(p *corev1.Pod, t corev1.Taint) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(x corev1.Toleration) bool {
		return (x.Effect == "" || x.Effect == t.Effect) && (x.Key == "" || x.Key == t.Key) &&
			(x.Operator == corev1.TolerationOpExists || x.Value == t.Value)
	})
}

// selected reports whether the Pod's selector and required node affinity admit the
// machine.
func (m *machine) selected(p *corev1.Pod) bool {
	if !labels.SelectorFromSet(p.Spec.NodeSelector).Matches(labels.Set(m.node.Labels)) {
		return false
	}
	aff := p.Spec.Affinity
	if aff == nil || aff.NodeAffinity == nil || aff.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	fields := labels.Set{metav1.ObjectNameField: m.node.Name}
	return slices.ContainsFunc(aff.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms,
		func(t corev1.NodeSelectorTerm) bool {
			return len(t.MatchExpressions)+len(t.MatchFields) > 0 &&
				meets(t.MatchExpressions, labels.Set(m.node.Labels)) && meets(t.MatchFields, fields)
		})
}

var selectorOperators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

func meets(all []corev1.NodeSelectorRequirement, values labels.Set) bool {
	for _, r := range all {
		req, err := labels.NewRequirement(r.Key, selectorOperators[r.Operator], r.Values)
		if err != nil || !req.Matches(values) {
			return false
		}
	}
	return true
}
