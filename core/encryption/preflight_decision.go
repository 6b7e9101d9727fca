package encryption

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// PreflightTimeout is how long a check may take before people are told.
	PreflightTimeout = 3 * time.Minute

	// PreflightRetention is how long the pod of a check that succeeded is kept, so
	// that its logs can be read.
	PreflightRetention = time.Hour
)

// Reasons why the condition [v1alpha1.KMSPreflightDegraded] is True, beside those that
// the kubelet gives.
const (
	ReasonPreflightCheckFailed      = "PreflightCheckFailed"
	ReasonPodCompletedWithoutResult = "PodCompletedWithoutResult"
	reasonUnknown                   = "Unknown"
)

// situation is all that KMSPreflight decides by.
type situation struct {
	now time.Time
	kms bool // the policy wants a KMS plugin

	required bool // the plugin as it is now is to be tried
	wanted   attempt
	verdict  metav1.ConditionStatus // on wanted

	pod *corev1.PodStatus // nil if there is none
}

// decision is what KMSPreflight does next.
type decision struct {
	cleanup, deploy bool
	after           time.Duration
	problem         *problem
	progressing     bool

	verdict metav1.ConditionStatus // on the attempt; empty to leave it
	reason  string
}

// decide goes through the cases from top to bottom. That a pod is of another
// configuration comes before what has become of it: else one that has crashed would
// stay for ever, and hold up the next.
func (s *situation) decide(failed *failures) decision {
	switch {
	case !s.required:
		if s.kms && s.fresh() > 0 {
			return decision{after: s.fresh()}
		}
		return decision{cleanup: true}
	case s.verdict == metav1.ConditionTrue:
		return s.keepOrClean(decision{})
	case s.pod == nil && s.verdict == metav1.ConditionFalse:
		return s.retry(failed)
	case s.pod == nil:
		return s.deploy()
	}
	if hash, ok := message(s.pod, KMSPreflightConfigHashPodCondition); ok && hash != s.wanted.String() {
		return decision{cleanup: true, after: PreflightPoll, progressing: true}
	} else if !ok {
		return s.silent(failed, "the pod has not reported what it tries")
	}
	switch result := condition(s.pod, KMSPreflightResultPodCondition); {
	case result != nil && result.Status == corev1.ConditionTrue:
		return s.keepOrClean(decision{verdict: metav1.ConditionTrue, reason: ReasonSucceeded})
	case result != nil && result.Status == corev1.ConditionFalse:
		return s.fail(failed, ReasonPreflightCheckFailed, result.Message)
	default:
		return s.silent(failed, "the check has no result yet")
	}
}

// deploy starts a workload.
func (s *situation) deploy() decision {
	return decision{deploy: true, after: PreflightPoll, progressing: true, verdict: metav1.ConditionUnknown, reason: ReasonRunning}
}

// retry starts the next workload of an attempt that failed, when it is time.
func (s *situation) retry(failed *failures) decision {
	if wait := failed.wait(s.wanted, s.now); wait > 0 {
		return decision{after: wait, problem: &problem{ReasonPreflightCheckFailed, "the KMS plugin failed its check, which is made again in a while"}}
	}
	failed.again()
	return decision{deploy: true, after: PreflightPoll, progressing: true}
}

// fail says that the attempt has failed. The pod stays until the next workload.
func (s *situation) fail(failed *failures, reason, text string) decision {
	d := decision{problem: &problem{reason, text}, verdict: metav1.ConditionFalse, reason: ReasonFailed}
	if d.after = failed.wait(s.wanted, s.now); d.after <= 0 {
		d.cleanup, d.after = true, PreflightPoll
	}
	return d
}

// silent is about a pod that has not said how the check went.
func (s *situation) silent(failed *failures, text string) decision {
	switch s.pod.Phase {
	case corev1.PodFailed:
		reason, detail := ended(s.pod)
		return s.fail(failed, reason, detail)
	case corev1.PodSucceeded:
		return s.fail(failed, ReasonPodCompletedWithoutResult, "the pod ended well, but "+text)
	}
	running := decision{after: PreflightPoll, verdict: metav1.ConditionUnknown, reason: ReasonRunning}
	if s.verdict == metav1.ConditionFalse { // of the workload before
		running.verdict = ""
	}
	age := s.now.Sub(started(s.pod))
	if age <= PreflightTimeout {
		running.progressing = true
		return running
	}
	// Not how long exactly: that would be written again and again.
	running.problem = &problem{waiting(s.pod), fmt.Sprintf("%s after more than %s", text, PreflightTimeout)}
	return running
}

// keepOrClean keeps the pod of a check that succeeded for a while.
func (s *situation) keepOrClean(d decision) decision {
	if d.after = s.fresh(); d.after <= 0 {
		d.cleanup, d.after = true, 0
	}
	return d
}

// fresh is how long the pod is still to be kept; zero or less if it is not.
func (s *situation) fresh() time.Duration {
	if s.pod == nil {
		return 0
	}
	result := condition(s.pod, KMSPreflightResultPodCondition)
	hash, _ := message(s.pod, KMSPreflightConfigHashPodCondition)
	if result == nil || result.Status != corev1.ConditionTrue || s.required && hash != s.wanted.String() {
		return 0
	}
	return PreflightRetention - s.now.Sub(result.LastTransitionTime.Time)
}

func condition(pod *corev1.PodStatus, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Conditions {
		if pod.Conditions[i].Type == kind {
			return &pod.Conditions[i]
		}
	}
	return nil
}

func message(pod *corev1.PodStatus, kind corev1.PodConditionType) (string, bool) {
	c := condition(pod, kind)
	if c == nil || c.Message == "" {
		return "", false
	}
	return c.Message, true
}

// started is when the pod came to be, as far as is known.
func started(pod *corev1.PodStatus) time.Time {
	if pod.StartTime != nil {
		return pod.StartTime.Time
	}
	if c := condition(pod, corev1.PodScheduled); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// ended says why a pod has failed.
func ended(pod *corev1.PodStatus) (reason, text string) {
	for i := range pod.ContainerStatuses {
		if t := pod.ContainerStatuses[i].State.Terminated; t != nil && t.ExitCode != 0 {
			return orUnknown(t.Reason), fmt.Sprintf("container %s ended with exit code %d: %s", pod.ContainerStatuses[i].Name, t.ExitCode, t.Message)
		}
	}
	return orUnknown(pod.Reason), "the pod has failed: " + pod.Message
}

// waiting says what a pod waits for.
func waiting(pod *corev1.PodStatus) string {
	for _, list := range [][]corev1.ContainerStatus{pod.InitContainerStatuses, pod.ContainerStatuses} {
		for i := range list {
			if w := list[i].State.Waiting; w != nil && w.Reason != "" {
				return w.Reason
			}
		}
	}
	if pod.Reason != "" {
		return pod.Reason
	}
	return orUnknown(string(pod.Phase))
}

func orUnknown(reason string) string {
	if reason == "" {
		return reasonUnknown
	}
	return reason
}
