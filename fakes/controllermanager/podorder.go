package controllermanager

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// active reports whether a pod counts as one that its owner has.
func active(p *corev1.Pod) bool { return !finished(p) && p.DeletionTimestamp == nil }

// terminating reports whether a pod is on its way out.
func terminatingPod(p *corev1.Pod) bool { return !finished(p) && p.DeletionTimestamp != nil }

// readyCondition returns the condition Ready of a pod if it is true.
func readyCondition(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

func ready(p *corev1.Pod) bool { return readyCondition(p) != nil }

// availableIn returns after what time a ready pod has been ready for so many seconds;
// zero or less if it has been.
func availableIn(p *corev1.Pod, minReadySeconds int32, now time.Time) (time.Duration, bool) {
	c := readyCondition(p)
	switch {
	case c == nil:
		return 0, false
	case minReadySeconds == 0:
		return 0, true
	case c.LastTransitionTime.IsZero():
		return 0, false
	}
	return c.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second).Sub(now), true
}

func available(p *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	left, ever := availableIn(p, minReadySeconds, now)
	return ever && left <= 0
}

// phaseOrder says which pods go first.
var phaseOrder = map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}

// leaving returns which n of the pods an owner deletes first. Between those that
// nothing tells apart m chooses. Related are the pods of all owners that belong
// together: a pod that has many of them on its node goes before one that has few.
func (m *Manager) leaving(pods, related []*corev1.Pod, n int) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	together := map[string]int{}
	for _, p := range related {
		if active(p) {
			together[p.Spec.NodeName]++
		}
	}
	now := m.opts.Clock.Now()
	order := make([]*corev1.Pod, 0, len(pods))
	for left := slices.Clone(pods); len(left) > 0; {
		i := m.opts.Pick(len(left))
		order = append(order, left[i])
		left = slices.Delete(left, i, i+1)
	}
	slices.SortStableFunc(order, func(a, b *corev1.Pod) int { return goesBefore(a, b, together, now) })
	return order[:n]
}

// goesBefore compares two pods of one owner; less is deleted first. Ages count by
// their orders of magnitude, and within one the uid decides, which is as good as
// chance.
func goesBefore(a, b *corev1.Pod, together map[string]int, now time.Time) int {
	if c := cmp.Or(
		trueLast(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseOrder[a.Status.Phase], phaseOrder[b.Status.Phase]),
		trueLast(ready(a), ready(b)),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		cmp.Compare(together[b.Spec.NodeName], together[a.Spec.NodeName]),
	); c != 0 {
		return c
	}
	if ra, rb := readyCondition(a), readyCondition(b); ra != nil && rb != nil && !ra.LastTransitionTime.Equal(&rb.LastTransitionTime) {
		return compareAges(a, b, ra.LastTransitionTime.Time, rb.LastTransitionTime.Time, now)
	}
	if c := cmp.Or(cmp.Compare(restarts(b, false), restarts(a, false)), cmp.Compare(restarts(b, true), restarts(a, true))); c != 0 {
		return c
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return compareAges(a, b, a.CreationTimestamp.Time, b.CreationTimestamp.Time, now)
	}
	return 0
}

func trueLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// compareAges puts the younger first.
func compareAges(a, b *corev1.Pod, ta, tb, now time.Time) int {
	if ta.IsZero() || tb.IsZero() {
		return trueLast(!ta.IsZero(), !tb.IsZero())
	}
	return cmp.Or(cmp.Compare(magnitude(now.Sub(ta)), magnitude(now.Sub(tb))), cmp.Compare(a.UID, b.UID))
}

func magnitude(d time.Duration) int {
	if d <= 0 {
		return -1
	}
	return bits.Len64(uint64(d)) - 1
}

func deletionCost(p *corev1.Pod) int32 {
	n, err := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// restarts is how often a container of the pod has been restarted at most, or one of
// its sidecars.
func restarts(p *corev1.Pod, sidecars bool) int32 {
	var most int32
	if !sidecars {
		for i := range p.Status.ContainerStatuses {
			most = max(most, p.Status.ContainerStatuses[i].RestartCount)
		}
		return most
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for j := range p.Status.InitContainerStatuses {
			if s := &p.Status.InitContainerStatuses[j]; s.Name == c.Name {
				most = max(most, s.RestartCount)
			}
		}
	}
	return most
}
