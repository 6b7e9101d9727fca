package node

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/core/cloak/references"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
)

// usesOf returns what a container of a Pod may use: what the Pod refers to in volumes, in
// containers and in init containers; an ephemeral container only what it refers to
// itself. References to anything but shadows are to no placeholder.
func usesOf(p *corev1.Pod, container string) (uses []secretsync.Use) {
	spec := p.Spec
	spec.EphemeralContainers = nil
	for i := range p.Spec.EphemeralContainers {
		if p.Spec.EphemeralContainers[i].Name == container {
			spec = corev1.PodSpec{EphemeralContainers: p.Spec.EphemeralContainers[i : i+1]}
		}
	}
	for _, ref := range references.Find(&spec) {
		if owner, ok := shadow.OwnerName(*ref.Name); ok && ref.Kubelet {
			uses = append(uses, secretsync.Use{NamespacedName: types.NamespacedName{Namespace: p.Namespace, Name: owner}, Keys: ref.Keys})
		}
	}
	return uses
}
