package home

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ScopeClaim is one fact about where work runs.
type ScopeClaim struct {
	Name, Value string
}

// Scope is the facts that the Pod is made of. Before the first Pod is stored it holds
// what the configuration knows: the namespace, the Pod's name and its UID. A stored Pod
// adds the service account, the node, and one claim per ResourceClaim.
func (h *Home) Scope() []ScopeClaim {
	scope := []ScopeClaim{
		{"namespace", h.cfg.PodNamespace},
		{"pod", h.cfg.PodName},
		{"pod_uid", h.cfg.PodUID},
	}
	pod := h.storedPod()
	if pod == nil {
		return scope
	}
	add := func(name, value string) {
		if value != "" {
			scope = append(scope, ScopeClaim{name, value})
		}
	}
	add("service_account", pod.Spec.ServiceAccountName)
	add("node", pod.Spec.NodeName)
	for _, name := range claimNames(pod) {
		add("resource_claim", name)
	}
	return scope
}

// claimNames returns the names of the Pod's ResourceClaims, sorted. One that is still
// to be made from its template has none yet.
func claimNames(pod *corev1.Pod) []string {
	made := map[string]string{}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.ResourceClaimName != nil {
			made[s.Name] = *s.ResourceClaimName
		}
	}
	var names []string
	for _, c := range pod.Spec.ResourceClaims {
		name := made[c.Name]
		if name == "" && c.ResourceClaimName != nil {
			name = *c.ResourceClaimName
		}
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
