package controllermanager

import (
	"encoding/hex"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/dump"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// What the two controllers of endpoints have in common: which pods stand behind a
// Service, and since when.

// servicesBehind returns the Services that a change of a pod may matter to. A nil old
// is an addition, a nil new a deletion.
func servicesBehind(m *Manager, old, new *corev1.Pod) []reconcile.Request {
	if old != nil && new != nil && !endpointChanged(old, new) {
		return nil
	}
	var out []reconcile.Request
	pod := new
	if new == nil {
		pod = old
	}
	for _, s := range cachedList[*corev1.Service](m, servicesGVR, pod.Namespace) {
		if s.Spec.Selector == nil {
			continue
		}
		selector := labels.SelectorFromSet(s.Spec.Selector)
		if old != nil && selector.Matches(labels.Set(old.Labels)) || new != nil && selector.Matches(labels.Set(new.Labels)) {
			out = append(out, keyOf(s))
		}
	}
	return out
}

// endpointChanged reports whether an update of a pod may change an endpoint.
func endpointChanged(old, new *corev1.Pod) bool {
	if old.ResourceVersion == new.ResourceVersion {
		return false
	}
	return old.DeletionTimestamp != nil || new.DeletionTimestamp != nil || ready(old) != ready(new) ||
		old.Spec.Hostname != new.Spec.Hostname || old.Spec.Subdomain != new.Spec.Subdomain ||
		!maps.Equal(old.Labels, new.Labels) || !slices.Equal(old.Status.PodIPs, new.Status.PodIPs)
}

// selectedPods returns the pods that a Service selects.
func selectedPods(m *Manager, s *corev1.Service) []*corev1.Pod {
	selector := labels.SelectorFromSet(s.Spec.Selector)
	return slices.DeleteFunc(cachedList[*corev1.Pod](m, podsGVR, s.Namespace), func(p *corev1.Pod) bool {
		return !selector.Matches(labels.Set(p.Labels))
	})
}

// isEndpoint reports whether a pod can be one.
func isEndpoint(p *corev1.Pod, terminating bool) bool {
	return !finished(p) && (p.Status.PodIP != "" || len(p.Status.PodIPs) > 0) && (terminating || p.DeletionTimestamp == nil)
}

func hasHostname(p *corev1.Pod, s *corev1.Service) bool {
	return p.Spec.Hostname != "" && p.Spec.Subdomain == s.Name
}

// targetPort returns the port of a pod that a port of a Service means.
func targetPort(p *corev1.Pod, port *corev1.ServicePort) (int32, bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	find := func(c *corev1.Container) (int32, bool) {
		for _, have := range c.Ports {
			if have.Name == port.TargetPort.StrVal && have.Protocol == port.Protocol {
				return have.ContainerPort, true
			}
		}
		return 0, false
	}
	for i := range p.Spec.Containers {
		if n, ok := find(&p.Spec.Containers[i]); ok {
			return n, true
		}
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if n, ok := find(c); ok {
			return n, true
		}
	}
	return 0, false
}

// headless reports whether a Service has no address of its own.
func headless(s *corev1.Service) bool {
	return s.Spec.ClusterIP == corev1.ClusterIPNone || s.Spec.ClusterIP == ""
}

// contentHash orders things as the real controllers do.
func contentHash(v any) string {
	h := fnv.New128a()
	_, _ = h.Write([]byte(dump.ForHash(v)))
	return hex.EncodeToString(h.Sum(nil))
}

// triggers remembers of each Service what the endpoints tell in an annotation: when
// the first of the changes happened that they do not show yet.
type triggers map[reconcile.Request]*trigger

type trigger struct {
	service time.Time
	pods    map[string]time.Time
}

// last returns the time of the first change since the last call; zero if there is
// none.
func (t triggers) last(s *corev1.Service, pods []*corev1.Pod) time.Time {
	was, known := t[keyOf(s)]
	if !known {
		was = &trigger{}
	}
	var first time.Time
	take := func(at, before time.Time) {
		if at.After(before) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	next := &trigger{service: s.CreationTimestamp.Time, pods: map[string]time.Time{}}
	for _, p := range pods {
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady && !c.LastTransitionTime.IsZero() {
				next.pods[p.Name] = c.LastTransitionTime.Time
				take(c.LastTransitionTime.Time, was.pods[p.Name])
			}
		}
	}
	take(next.service, was.service)
	t[keyOf(s)] = next
	if !known {
		return s.CreationTimestamp.Time
	}
	return first
}

// annotateTrigger tells the time, or nothing if there is none.
func annotateTrigger(annotations map[string]string, at time.Time) map[string]string {
	out := maps.Clone(annotations)
	if out == nil {
		out = map[string]string{}
	}
	delete(out, corev1.EndpointsLastChangeTriggerTime)
	if !at.IsZero() {
		out[corev1.EndpointsLastChangeTriggerTime] = at.UTC().Format(time.RFC3339Nano)
	}
	return out
}
