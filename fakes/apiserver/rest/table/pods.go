package table

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (t tables) addPods() {
	pods := add(t, "", "Pod", head(
		col("Ready", "The aggregate readiness state of this pod for accepting traffic."),
		col("Status", "The aggregate status of the containers in this pod."),
		col("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
		ageCol(),
		col("IP", doc[corev1.PodStatus]("podIP")).wide(),
		col("Node", doc[corev1.PodSpec]("nodeName")).wide(),
		col("Nominated Node", doc[corev1.PodStatus]("nominatedNodeName")).wide(),
		col("Readiness Gates", doc[corev1.PodSpec]("readinessGates")).wide(),
	), func(o *corev1.Pod, now time.Time) []any {
		s := summarize(o)
		ip := ""
		if len(o.Status.PodIPs) > 0 {
			ip = o.Status.PodIPs[0].IP
		}
		return []any{
			o.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.status, s.restartsAt(now), age(o, now),
			or(ip, "<none>"), or(o.Spec.NodeName, "<none>"), or(o.Status.NominatedNodeName, "<none>"), gates(o),
		}
	})
	pods.conditions = completed
}

// completed tells clients which rows they may leave out.
func completed(obj Object) []metav1.TableRowCondition {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	var message string
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		message = "The pod has completed successfully."
	case corev1.PodFailed:
		message = "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(pod.Status.Phase), Message: message,
	}}
}

// podSummary is what the containers of a pod come to.
type podSummary struct {
	status       string
	ready, total int
	restarts     int32
	restarted    time.Time // the last time; zero: never
}

func (s *podSummary) restartsAt(now time.Time) string {
	if s.restarts == 0 || s.restarted.IsZero() {
		return strconv.Itoa(int(s.restarts))
	}
	return fmt.Sprintf("%d (%s ago)", s.restarts, since(s.restarted, now))
}

// count adds the restarts of a container.
func (s *podSummary) count(c *corev1.ContainerStatus) {
	s.restarts += c.RestartCount
	if t := c.LastTerminationState.Terminated; t != nil && s.restarted.Before(t.FinishedAt.Time) {
		s.restarted = t.FinishedAt.Time
	}
}

func summarize(pod *corev1.Pod) podSummary {
	s := podSummary{status: or(pod.Status.Reason, string(pod.Status.Phase)), total: len(pod.Spec.Containers)}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.status = corev1.PodReasonSchedulingGated
		}
	}
	initializing := s.initContainers(pod)
	if !initializing || conditionTrue(pod, corev1.PodInitialized) {
		s.containers(pod)
	}
	terminal := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp == nil:
	case pod.Status.Reason == "NodeLost":
		s.status = "Unknown"
	case !terminal:
		s.status = "Terminating"
	}
	return s
}

// initContainers looks at what runs before the containers, or beside them. It
// reports whether one of those that run before has not finished.
func (s *podSummary) initContainers(pod *corev1.Pod) (initializing bool) {
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
			s.total++
		}
	}
	var all podSummary // restarts so far; only those of sidecars count later
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		all.count(c)
		if sidecars[c.Name] {
			s.count(c)
		}
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
			continue
		case sidecars[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case c.State.Terminated != nil:
			s.status = "Init:" + reason(c.State.Terminated)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			s.status = "Init:" + c.State.Waiting.Reason
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		if !conditionTrue(pod, corev1.PodInitialized) {
			s.restarts, s.restarted = all.restarts, all.restarted
		}
		return true
	}
	return false
}

// containers looks at the containers proper. The first one has the last word.
func (s *podSummary) containers(pod *corev1.Pod) {
	running, failure := false, ""
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.count(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.status = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.status = reason(c.State.Terminated)
			if c.State.Terminated.ExitCode != 0 {
				failure = s.status
			}
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.status != "Completed" {
		return
	}
	switch {
	case running && conditionTrue(pod, corev1.PodReady):
		s.status = "Running"
	case failure != "":
		s.status = failure
	case running:
		s.status = "NotReady"
	}
}

// reason says in a word why a container ended.
func reason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// conditionTrue looks at the first condition of the type.
func conditionTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func gates(pod *corev1.Pod) string {
	n := len(pod.Spec.ReadinessGates)
	if n == 0 {
		return "<none>"
	}
	passed := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if conditionTrue(pod, gate.ConditionType) {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, n)
}

// containers are the names and images of containers.
func containers(list []corev1.Container) (names, images string) {
	n, i := make([]string, len(list)), make([]string, len(list))
	for c := range list {
		n[c], i[c] = list[c].Name, list[c].Image
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

// containerCols are the columns of those.
func containerCols() []column {
	return []column{
		col("Containers", "Names of each container in the template."),
		col("Images", "Images referenced by each container in the template."),
	}
}

func wideContainerCols() []column {
	cols := containerCols()
	for i := range cols {
		cols[i] = cols[i].wide()
	}
	return cols
}
