package home

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/clock"
)

const (
	// PodConditionZygoteReady is the Pod condition that is set once a template is
	// warm. The controller lists it as a readiness gate on every grant Pod, so the
	// Pod joins its Service only then.
	PodConditionZygoteReady = "fiberd.io/zygote-ready"

	// ReasonTemplateWarm is the condition's reason while it is True: at least one
	// grant has a warm template.
	ReasonTemplateWarm = "TemplateWarm"

	// ReasonNoWarmTemplate is the condition's reason while it is False: no grant has
	// a warm template yet, or the last one went cold.
	ReasonNoWarmTemplate = "NoWarmTemplate"
)

// readiness is what is warm, and what the cluster knows of it.
type readiness struct {
	// turn is held by who talks to the API server about the condition. It is sent
	// while nobody does.
	turn clock.Signal

	mu       sync.Mutex
	warm     map[string]bool
	attempts int // begun and ended, to set the condition

	// published is what the condition says, as far as anybody knows.
	published knowledge
}

// knowledge is what is known of the condition.
type knowledge int

const (
	unread    knowledge = iota // a container before this one may have set it
	uncertain                  // a patch has failed, which may have been applied
	isFalse                    // or absent
	isTrue
)

func known(ready bool) knowledge {
	if ready {
		return isTrue
	}
	return isFalse
}

func (r *readiness) start(c clock.Clock) {
	r.warm = map[string]bool{}
	r.turn = c.NewSignal()
	r.turn.Send()
}

// set notes whether the template of a grant is warm.
func (r *readiness) set(uid string, warm bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if warm {
		r.warm[uid] = true
	} else {
		delete(r.warm, uid)
	}
}

// state returns what is so, and what is known to be published.
func (r *readiness) state() (ready bool, published knowledge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.warm) > 0, r.published
}

func (r *readiness) learn(k knowledge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published = k
}

// Ready reports whether any grant's template is warm, which is what the Pod condition
// says once it is published.
func (h *Home) Ready() bool {
	ready, _ := h.readiness.state()
	return ready
}

// PublishReady records that the grant's template is warm, or is no longer, and sets the
// Pod condition when that flips "any template is warm". It returns why the condition
// could not be set; the polls set it then, as long as they run.
func (h *Home) PublishReady(ctx context.Context, grantUID string, ready bool) error {
	h.readiness.set(grantUID, ready)
	return h.publish(ctx, reading{})
}

// reading is a Pod as it was read, after so many attempts to set its condition had begun
// or ended.
type reading struct {
	pod      *corev1.Pod
	attempts int
}

func (r *readiness) attemptsSoFar() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}

// tells reports whether the Pod shows what has become of all attempts.
func (r *readiness) tells(seen reading) bool {
	return seen.pod != nil && seen.attempts == r.attemptsSoFar()
}

func (r *readiness) attempt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
}

// repairReadiness sets the condition if it is not what it should be, as far as is
// known.
func (h *Home) repairReadiness(ctx context.Context, seen reading) {
	if err := h.publish(ctx, seen); err != nil && ctx.Err() == nil {
		h.log.Info("Cannot set the readiness condition", "error", err.Error())
	}
}

// publish sets the condition if it differs, one caller at a time, so that the last
// state wins and not the last caller.
func (h *Home) publish(ctx context.Context, seen reading) error {
	r := &h.readiness
	if err := r.turn.Wait(ctx); err != nil {
		return fmt.Errorf("wait to set condition %s of pod %s/%s: %w", PodConditionZygoteReady, h.cfg.PodNamespace, h.cfg.PodName, err)
	}
	defer r.turn.Send()
	ready, published := r.state()
	if r.tells(seen) {
		// Also when more is known: an attempt that failed may take effect late.
		published = known(isConditionTrue(seen.pod))
	} else if published == uncertain {
		pod := h.readPod(ctx, false)
		if pod == nil {
			return fmt.Errorf("set condition %s of pod %s/%s: an earlier attempt failed, and the pod cannot be read",
				PodConditionZygoteReady, h.cfg.PodNamespace, h.cfg.PodName)
		}
		published = known(isConditionTrue(pod))
	}
	r.learn(published)
	switch {
	case published == known(ready):
		return nil
	case published == unread && !ready:
		return nil // a round will tell whether there is anything to take back
	}
	patch, err := json.Marshal(conditionPatch(h.cfg.PodUID, ready, metav1.NewTime(h.clock.Now())))
	if err != nil {
		return fmt.Errorf("encode condition %s: %w", PodConditionZygoteReady, err)
	}
	// Counted at both ends: a Pod that was read meanwhile tells nothing about it.
	r.attempt()
	err = h.cfg.Kube.PatchPodStatus(ctx, h.cfg.PodNamespace, h.cfg.PodName, patch)
	r.attempt()
	if err != nil {
		r.learn(uncertain)
		return fmt.Errorf("set condition %s of pod %s/%s to %t: %w", PodConditionZygoteReady, h.cfg.PodNamespace, h.cfg.PodName, ready, err)
	}
	r.learn(known(ready))
	return nil
}

func isConditionTrue(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == PodConditionZygoteReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// conditionPatch is a patch that a server refuses for another Pod of the same name.
func conditionPatch(uid string, ready bool, now metav1.Time) any {
	condition := map[string]any{
		"type": PodConditionZygoteReady, "status": corev1.ConditionFalse, "lastTransitionTime": now,
		"reason": ReasonNoWarmTemplate, "message": "no grant has a warm template",
	}
	if ready {
		condition["status"] = corev1.ConditionTrue
		condition["reason"] = ReasonTemplateWarm
		condition["message"] = "a grant has a warm template"
	}
	return map[string]any{
		"metadata": map[string]any{"uid": uid},
		"status":   map[string]any{"conditions": []any{condition}},
	}
}
