package shadow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/protected"
	"github.com/seedbed-sim/seedbed/core/cloak/references"
)

// Condition says whether a Secret is protected, in an annotation of it. It has no time:
// agents that say the same must write the same.
type Condition struct {
	Type    string `json:"type"`   // always Protected
	Status  string `json:"status"` // True or False
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// ConditionOf reads the condition of a Secret.
func ConditionOf(s *corev1.Secret) (c Condition, ok bool) {
	err := json.Unmarshal([]byte(s.Annotations[cloak.AnnotationCondition]), &c)
	return c, err == nil
}

// defective is the condition of a Secret with defects.
func defective(defects []protected.Defect) *Condition {
	return &Condition{Status: "False", Reason: string(defects[0].Reason), Message: protected.Text(defects)}
}

// conditionOf is the condition of a Secret that has a shadow.
func conditionOf(report protected.Report) *Condition {
	switch {
	case len(report.Rules) > 0:
		return defective(report.Rules)
	case len(report.Raw) > 0:
		return &Condition{Status: "True", Reason: "HTTP11Only", Message: fmt.Sprintf(
			"keys %q are protected in HTTP/1.1 only: in HTTP/2 their placeholders stay as they are; the values may go to %s", report.Raw, report.Rule.Hosts)}
	case report.Rule.Hosts.Any():
		return &Condition{Status: "True", Reason: "Unrestricted", Message: "the values may go to every host; the annotation " + cloak.AnnotationHosts + " restricts them"}
	}
	return &Condition{Status: "True", Reason: "Protected", Message: "the values may go to " + report.Rule.Hosts.String()}
}

// tell writes the condition, nil for none, and records an event if it has changed.
// Whoever writes it records the event, so that of many agents one does.
func (r *SecretReconciler) tell(ctx context.Context, original *corev1.Secret, c *Condition) error {
	text := ""
	if c != nil {
		c.Type = "Protected"
		raw, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("condition: %w", err)
		}
		text = string(raw)
	}
	if original.Annotations[cloak.AnnotationCondition] == text {
		return nil
	}
	told := original.DeepCopy()
	if text == "" {
		delete(told.Annotations, cloak.AnnotationCondition)
	} else {
		if told.Annotations == nil {
			told.Annotations = map[string]string{}
		}
		told.Annotations[cloak.AnnotationCondition] = text
	}
	if err := r.Live.Patch(ctx, told, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("condition: %w", err)
	}
	if c != nil {
		kind := corev1.EventTypeNormal
		if c.Status != "True" || c.Reason == "Unrestricted" || c.Reason == "HTTP11Only" {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Event(original, kind, c.Reason, c.Message)
	}
	return nil
}

// holdersShown is how many Pods an event names.
const holdersShown = 10

// holders returns the names of the Pods that have the real values of a Secret, since they
// were started before it was protected. They are read from the API server: it happens once
// for each Secret, and a cache of all Pods on every node would be kept for it.
func (r *SecretReconciler) holders(ctx context.Context, original *corev1.Secret) ([]string, error) {
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.InNamespace(original.Namespace)); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	var names []string
	for i := range pods.Items {
		p := &pods.Items[i]
		done := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !done && slices.ContainsFunc(references.Find(&p.Spec), func(ref references.Reference) bool { return *ref.Name == original.Name }) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// warnOfHolders tells which Pods have the real values of a Secret.
func (r *SecretReconciler) warnOfHolders(original *corev1.Secret, names []string) {
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - holdersShown; n > 0 {
		names, more = names[:holdersShown], fmt.Sprintf(" and %d more", n)
	}
	r.Recorder.Event(original, corev1.EventTypeWarning, "PodsHoldValues", fmt.Sprintf(
		"Pods %s%s were started before this Secret was protected and have its values; restart them", strings.Join(names, ", "), more))
}
