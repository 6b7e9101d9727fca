package home

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/home"
)

// evidence is what the answers of the API have said about the scope, in the words of
// the reasons for its loss.
type evidence struct {
	now     func() time.Duration
	reasons []string
	missing []string // claims that were not found; the Pod has not been read since
	claims  map[string]types.UID

	latest time.Duration // of the reasons

	unserved bool
	since    time.Duration
}

func (e *evidence) has(reason string) bool { return slices.Contains(e.reasons, reason) }

func (e *evidence) add(format string, args ...any) {
	if reason := fmt.Sprintf(format, args...); !e.has(reason) {
		e.reasons = append(e.reasons, reason)
		e.latest = e.now()
	}
}

// missingObject reports whether err says that the object is not there, and not that the
// server does not know the path.
func missingObject(err error) bool {
	var unexpected *apierrors.StatusError
	if errors.As(err, &unexpected) && unexpected.ErrStatus.Details != nil {
		for _, c := range unexpected.ErrStatus.Details.Causes {
			if c.Type == metav1.CauseTypeUnexpectedServerResponse {
				return false
			}
		}
	}
	return apierrors.IsNotFound(err)
}

func (e *evidence) pod(own *grantPod, pod *corev1.Pod, err error) {
	missing := e.missing
	e.missing = nil
	switch {
	case missingObject(err):
		e.add("pod %s/%s gone", Namespace, own.slot.name)
	case err != nil:
		e.missing = missing
	case string(pod.UID) != own.uid:
		e.add("pod %s/%s replaced", Namespace, own.slot.name)
	case pod.DeletionTimestamp != nil:
		e.add("pod %s/%s terminating", Namespace, own.slot.name)
	default:
		for _, name := range missing {
			e.add("resource claim %s gone", name)
		}
	}
}

func (e *evidence) namespace(ns *corev1.Namespace, err error) {
	switch {
	case missingObject(err):
		e.add("namespace %s gone", Namespace)
	case err == nil && (ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating):
		e.add("namespace %s terminating", Namespace)
	}
}

func (e *evidence) claim(name string, claim *metav1.PartialObjectMetadata, err error, now time.Duration) {
	switch {
	case errors.Is(err, home.ErrNoResourceClaims):
		if !e.unserved {
			e.unserved, e.since = true, now
		} else if now-e.since >= home.DefaultStaleTTL {
			e.add("cluster serves no resource claims")
		}
	case missingObject(err):
		e.unserved = false
		e.missing = append(e.missing, name)
	case err == nil:
		e.unserved = false
		if e.claims == nil {
			e.claims = map[string]types.UID{}
		}
		if first, seen := e.claims[name]; !seen {
			e.claims[name] = claim.UID
		} else if first != claim.UID {
			e.add("resource claim %s replaced", name)
		}
		if claim.DeletionTimestamp != nil {
			e.add("resource claim %s being deleted", name)
		}
	}
}

// facts are what the API has said about the Pod itself.
type facts struct {
	known         bool
	node, account string
	claims        []string
}

func (f *facts) learn(pod *corev1.Pod) {
	f.known = true
	f.node, f.account = pod.Spec.NodeName, pod.Spec.ServiceAccountName
	for _, c := range pod.Spec.ResourceClaims {
		if c.ResourceClaimName != nil && !slices.Contains(f.claims, *c.ResourceClaimName) {
			f.claims = append(f.claims, *c.ResourceClaimName)
		}
	}
	for _, c := range pod.Status.ResourceClaimStatuses {
		if c.ResourceClaimName != nil && !slices.Contains(f.claims, *c.ResourceClaimName) {
			f.claims = append(f.claims, *c.ResourceClaimName)
		}
	}
}

// lookAtScope judges the facts that the home tells.
func (l *life) lookAtScope() {
	scope := l.home.Scope()
	want := []home.ScopeClaim{{Name: "namespace", Value: Namespace}, {Name: "pod", Value: l.pod.slot.name}, {Name: "pod_uid", Value: l.pod.uid}}
	if len(scope) < len(want) || !slices.Equal(scope[:len(want)], want) {
		l.breaks(scopeIsOwn, "its scope is %v, and should begin with %v", scope, want)
		return
	}
	for _, c := range scope[len(want):] {
		f, ok := l.scope, false
		switch c.Name {
		case "service_account":
			ok = c.Value == f.account
		case "node":
			ok = c.Value == f.node
		case "resource_claim":
			ok = slices.Contains(f.claims, c.Value)
		}
		if !ok {
			l.breaks(scopeIsOwn, "its scope has %s %s, which the API has not said about this Pod", c.Name, c.Value)
		}
	}
}
