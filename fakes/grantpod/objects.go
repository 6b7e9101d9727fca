package grantpod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DeleteProtection is the finalizer of a ResourceClaim that a Pod uses.
const DeleteProtection = "resource.kubernetes.io/delete-protection"

// PutPod stores a copy of pod, in place of one of its name, and returns its UID: a new
// one unless pod has one.
func (k *Kube) PutPod(pod *corev1.Pod) types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	pod = pod.DeepCopy()
	k.born(&pod.ObjectMeta)
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	k.remember(key)
	k.pods[key] = pod
	if _, ok := k.namespaces[pod.Namespace]; !ok {
		k.putNamespace(pod.Namespace)
	}
	return pod.UID
}

// remember keeps how a Pod is before it changes.
func (k *Kube) remember(key types.NamespacedName) {
	if pod := k.pods[key]; pod != nil {
		k.past[key] = pod.DeepCopy()
	}
}

// PutNamespace makes a namespace, unless it is there.
func (k *Kube) PutNamespace(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.namespaces[name]; !ok {
		k.putNamespace(name)
	}
}

func (k *Kube) putNamespace(name string) {
	ns := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
	k.born(&ns.ObjectMeta)
	k.namespaces[name] = ns
}

// UpdatePod changes a Pod, if it is there.
func (k *Kube) UpdatePod(namespace, name string, change func(*corev1.Pod)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if pod, ok := k.pods[key]; ok {
		k.remember(key)
		change(pod)
		k.version(&pod.ObjectMeta)
	}
}

// DeletePod marks a Pod as being deleted, as the API server does with one that is
// given time to end. RemovePod is the kubelet's word that it has.
func (k *Kube) DeletePod(namespace, name string) {
	k.UpdatePod(namespace, name, func(pod *corev1.Pod) {
		if pod.DeletionTimestamp == nil {
			now := metav1.NewTime(k.clock.Now())
			pod.DeletionTimestamp = &now
		}
	})
}

// RemovePod removes a Pod at once, with the claims that were made for it.
func (k *Kube) RemovePod(namespace, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	pod, ok := k.pods[key]
	if !ok {
		return
	}
	k.remember(key)
	delete(k.pods, key)
	for claimKey, claim := range k.claims {
		if claimKey.Namespace == namespace && slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == pod.UID }) {
			delete(k.claims, claimKey)
		}
	}
}

// ReplacePod removes a Pod and makes one like it, with another UID, which it returns.
func (k *Kube) ReplacePod(namespace, name string) types.UID {
	k.mu.Lock()
	pod := k.pods[types.NamespacedName{Namespace: namespace, Name: name}].DeepCopy()
	k.mu.Unlock()
	k.RemovePod(namespace, name)
	pod.UID, pod.CreationTimestamp, pod.DeletionTimestamp = "", metav1.Time{}, nil
	pod.Status = corev1.PodStatus{}
	return k.PutPod(pod)
}

// Pod returns a copy of a Pod, or nil. It is no call.
func (k *Kube) Pod(namespace, name string) *corev1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pods[types.NamespacedName{Namespace: namespace, Name: name}].DeepCopy()
}

// TerminateNamespace marks a Namespace and all in it as being deleted.
func (k *Kube) TerminateNamespace(name string) {
	k.mu.Lock()
	ns, ok := k.namespaces[name]
	var pods []string
	if ok {
		now := metav1.NewTime(k.clock.Now())
		ns.DeletionTimestamp, ns.Status.Phase = &now, corev1.NamespaceTerminating
		k.version(&ns.ObjectMeta)
		for key := range k.pods {
			if key.Namespace == name {
				pods = append(pods, key.Name)
			}
		}
	}
	k.mu.Unlock()
	slices.Sort(pods)
	for _, pod := range pods {
		k.DeletePod(name, pod)
	}
}

// RemoveNamespace removes a Namespace and all in it.
func (k *Kube) RemoveNamespace(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.namespaces, name)
	for key, pod := range k.pods {
		if key.Namespace == name {
			k.past[key] = pod
			delete(k.pods, key)
		}
	}
	for key := range k.claims {
		if key.Namespace == name {
			delete(k.claims, key)
		}
	}
}

// PutClaim stores a ResourceClaim that is in use, made for the Pod with that UID if it
// is not empty. It returns its UID.
func (k *Kube) PutClaim(namespace, name string, owner types.UID) types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	claim := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Finalizers: []string{DeleteProtection},
	}}
	if owner != "" {
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: owner}}
	}
	k.born(&claim.ObjectMeta)
	k.claims[types.NamespacedName{Namespace: namespace, Name: name}] = claim
	return claim.UID
}

// DeleteClaim marks a ResourceClaim as being deleted; it lingers while it is in use.
// ReleaseClaim ends that.
func (k *Kube) DeleteClaim(namespace, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if claim, ok := k.claims[types.NamespacedName{Namespace: namespace, Name: name}]; ok && claim.DeletionTimestamp == nil {
		now := metav1.NewTime(k.clock.Now())
		claim.DeletionTimestamp = &now
		k.version(&claim.ObjectMeta)
	}
}

// ReleaseClaim takes the finalizer from a ResourceClaim, which removes it if it is being
// deleted.
func (k *Kube) ReleaseClaim(namespace, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	claim, ok := k.claims[key]
	switch {
	case !ok:
	case claim.DeletionTimestamp != nil:
		delete(k.claims, key)
	default:
		claim.Finalizers = nil
		k.version(&claim.ObjectMeta)
	}
}
