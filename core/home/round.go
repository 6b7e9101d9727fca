package home

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// round asks the API server once for all that the scope is made of.
func (h *Home) round(ctx context.Context) {
	h.mu.Lock()
	paused := h.paused
	h.mu.Unlock()
	if paused {
		return
	}
	ctx, cancel := h.clock.WithTimeout(ctx, h.cfg.Poll)
	defer cancel()
	attempts := h.readiness.attemptsSoFar()
	pod := h.readPod(ctx, true)
	if pod == nil {
		return
	}
	h.checkScope(ctx, pod)
	h.repairReadiness(ctx, reading{pod: pod, attempts: attempts})
}

// checkScope looks for a loss, and stops at the first.
func (h *Home) checkScope(ctx context.Context, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		h.lose(podLoss(h, "terminating"))
		return
	}
	if h.checkNamespace(ctx) {
		h.checkClaims(ctx, pod)
	}
}

// podLoss is a reason about the Pod. Reasons are remembered, so they hold nothing that
// changes.
func podLoss(h *Home, what string) string {
	return fmt.Sprintf("pod %s/%s %s", h.cfg.PodNamespace, h.cfg.PodName, what)
}

// readPod reads the Pod and stores it if it is still this one; else it returns nil,
// and has noted the loss if there is one. A round's read marks the health.
func (h *Home) readPod(ctx context.Context, mark bool) *corev1.Pod {
	pod, err := h.observePod(ctx, mark)
	if err != nil {
		h.readFailed("Pod", h.cfg.PodName, err)
	}
	return pod
}

// observePod is readPod for who tells of errors himself.
func (h *Home) observePod(ctx context.Context, mark bool) (*corev1.Pod, error) {
	pod, err := h.cfg.Kube.GetPod(ctx, h.cfg.PodNamespace, h.cfg.PodName)
	switch {
	case gone(err):
		h.lose(podLoss(h, "gone"))
		return nil, nil
	case err != nil:
		return nil, err
	case string(pod.UID) != h.cfg.PodUID:
		h.lose(podLoss(h, "replaced"))
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pod = pod
	if mark && !h.paused {
		h.health.MarkSync(h.clock.Monotonic())
	}
	return pod, nil
}

// gone reports whether err says that an object is not there. A server that does not
// know the path at all says something like it.
func gone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

func (h *Home) readFailed(kind, name string, err error) {
	h.log.Info("Cannot read what the scope is made of", "kind", kind, "name", name, "error", err.Error())
}

// checkNamespace reports whether the round goes on.
func (h *Home) checkNamespace(ctx context.Context) bool {
	name := h.cfg.PodNamespace
	ns, err := h.cfg.Kube.GetNamespace(ctx, name)
	switch {
	case gone(err):
		h.lose(fmt.Sprintf("namespace %s gone", name))
		return false
	case err != nil:
		h.readFailed("Namespace", name, err) // often nobody has allowed it
		return true
	case ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating:
		h.lose(fmt.Sprintf("namespace %s terminating", name))
		return false
	}
	return true
}

// checkClaims reads the Pod's claims until one is lost.
func (h *Home) checkClaims(ctx context.Context, pod *corev1.Pod) {
	for _, name := range claimNames(pod) {
		claim, err := h.cfg.Kube.GetResourceClaim(ctx, h.cfg.PodNamespace, name)
		switch {
		case errors.Is(err, ErrNoResourceClaims):
			h.claimsUnserved()
			return // the others would be answered the same
		case gone(err):
			h.claimsServed()
			h.claimGone(ctx, name)
			return
		case err != nil:
			h.readFailed("ResourceClaim", name, err)
		default:
			h.claimsServed()
			if !h.checkClaim(name, claim) {
				return
			}
		}
	}
}

// checkClaim looks at a claim that is there.
func (h *Home) checkClaim(name string, claim *metav1.PartialObjectMetadata) bool {
	h.mu.Lock()
	first, seen := h.claims[name]
	if !seen {
		h.claims[name] = claim.UID
	}
	h.mu.Unlock()
	switch {
	case seen && first != claim.UID:
		h.lose(fmt.Sprintf("resource claim %s replaced", name))
	case claim.DeletionTimestamp != nil:
		h.lose(fmt.Sprintf("resource claim %s being deleted", name))
	default:
		return true
	}
	return false
}

// claimGone notes the loss of a claim, if the Pod lives still: claims made for a Pod
// go with it, and then it is the Pod that is lost.
func (h *Home) claimGone(ctx context.Context, name string) {
	pod := h.readPod(ctx, false)
	switch {
	case pod == nil: // said so, or nobody knows
	case pod.DeletionTimestamp != nil:
		h.lose(podLoss(h, "terminating"))
	default:
		h.lose(fmt.Sprintf("resource claim %s gone", name))
	}
}

// claimsUnserved notes that the cluster serves no claims. Once is no evidence: a
// server that has just started may not know them yet.
func (h *Home) claimsUnserved() {
	now := h.clock.Monotonic()
	h.mu.Lock()
	if !h.unservedKnown {
		h.unserved, h.unservedKnown = now, true
	}
	lost := now-h.unserved >= h.cfg.StaleTTL
	h.mu.Unlock()
	if lost {
		h.lose("cluster serves no resource claims")
	}
}

func (h *Home) claimsServed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unservedKnown = false
}
