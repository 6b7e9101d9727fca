package registry

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the admission plug-in RuntimeClass does to new pods.

var runtimeClassResource = schema.GroupResource{Group: nodev1.GroupName, Resource: "runtimeclasses"}

// runtimeClass returns the class that a pod names, nil if it names none.
func runtimeClass(c *Context, p *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if p.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	o, ok := c.Peers.Peer(runtimeClassResource, "", *p.Spec.RuntimeClassName)
	if !ok {
		return nil, forbidden(podResource, p, fmt.Sprintf("pod rejected: RuntimeClass %q not found", *p.Spec.RuntimeClassName))
	}
	return o.(*nodev1.RuntimeClass), nil
}

const otherOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

// applyRuntimeClass gives a pod the overhead of its class, and the nodes.
func applyRuntimeClass(c *Context, p *corev1.Pod) error {
	class, err := runtimeClass(c, p)
	if err != nil || class == nil {
		return err
	}
	if class.Overhead != nil {
		if len(p.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(class.Overhead.PodFixed, p.Spec.Overhead) {
			return forbidden(podResource, p, otherOverhead)
		}
		p.Spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return nil
	}
	selector := copied(p.Spec.NodeSelector)
	for _, key := range sortedKeys(class.Scheduling.NodeSelector) {
		value := class.Scheduling.NodeSelector[key]
		if own, ok := selector[key]; ok && own != value {
			return forbidden(podResource, p, fmt.Sprintf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, value, key, own))
		}
		selector[key] = value
	}
	if len(selector) > 0 {
		p.Spec.NodeSelector = selector
	}
	for _, t := range class.Scheduling.Tolerations {
		if !slices.ContainsFunc(p.Spec.Tolerations, func(own corev1.Toleration) bool { return equality.Semantic.DeepEqual(own, t) }) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, *t.DeepCopy())
		}
	}
	return nil
}

// checkOverhead refuses an overhead that is not that of the class.
func checkOverhead(c *Context, p *corev1.Pod) error {
	class, err := runtimeClass(c, p)
	switch {
	case err != nil:
		return err
	case class != nil && class.Overhead != nil:
		if !equality.Semantic.DeepEqual(class.Overhead.PodFixed, p.Spec.Overhead) {
			return forbidden(podResource, p, otherOverhead)
		}
	case p.Spec.Overhead != nil:
		return forbidden(podResource, p, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return nil
}
