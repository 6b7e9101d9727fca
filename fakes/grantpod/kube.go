package grantpod

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/seedbed-sim/seedbed/core/home"
)

// Clock is what the cluster needs of time; clock.Clock of core has it.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Verb is what a call does.
type Verb string

// Verbs.
const (
	GetPod           Verb = "get pod"
	GetNamespace     Verb = "get namespace"
	GetResourceClaim Verb = "get resourceclaim"
	PatchPodStatus   Verb = "patch pod/status"
)

// Call is a call that was made.
type Call struct {
	Verb     Verb
	Name     string // of the object
	At       time.Time
	Deadline time.Time // of the context; zero: none
	Patch    []byte
}

// Kube is the cluster. It implements home.Kube. Its methods may be called from several
// goroutines.
type Kube struct {
	clock Clock

	// Before, if it is not nil, is called at the end of each call, before the answer
	// is made. It may change the cluster.
	Before func(Call)

	mu         sync.Mutex
	uids       int
	versions   int
	pods       map[types.NamespacedName]*corev1.Pod
	namespaces map[string]*corev1.Namespace
	claims     map[types.NamespacedName]*metav1.PartialObjectMetadata
	noClaims   bool
	past       map[types.NamespacedName]*corev1.Pod // before the last change
	stale      int                                  // reads of Pods that are to see the past
	faults     map[Verb][]*Fault
	calls      []Call
}

var _ home.Kube = (*Kube)(nil)

// New returns an empty cluster that serves ResourceClaims.
func New(clock Clock) *Kube {
	return &Kube{
		clock: clock, pods: map[types.NamespacedName]*corev1.Pod{}, namespaces: map[string]*corev1.Namespace{},
		claims: map[types.NamespacedName]*metav1.PartialObjectMetadata{}, faults: map[Verb][]*Fault{},
		past: map[types.NamespacedName]*corev1.Pod{},
	}
}

// Calls returns the calls that were made, in order.
func (k *Kube) Calls() []Call {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Call(nil), k.calls...)
}

// ServeClaims says whether the cluster serves ResourceClaims from now on.
func (k *Kube) ServeClaims(served bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noClaims = !served
}

// ServeStale lets the next so many reads of Pods see them as they were before their last
// change, as a cache that lags does. A Pod that has never changed is seen as it is.
func (k *Kube) ServeStale(reads int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stale = reads
}

// enter notes a call and lets its fault happen. After it the answer is made.
func (k *Kube) enter(ctx context.Context, verb Verb, name string, patch []byte) error {
	c := Call{Verb: verb, Name: name, At: k.clock.Now(), Patch: patch}
	c.Deadline, _ = ctx.Deadline()
	k.mu.Lock()
	k.calls = append(k.calls, c)
	f := k.fault(verb, name)
	k.mu.Unlock()
	if err := f.happen(ctx, k.clock); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if k.Before != nil {
		k.Before(c)
	}
	return nil
}

var (
	podResource       = schema.GroupResource{Resource: "pods"}
	namespaceResource = schema.GroupResource{Resource: "namespaces"}
	claimResource     = schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
)

// GetPod implements home.Kube.
func (k *Kube) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if err := k.enter(ctx, GetPod, name, nil); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	pod, ok := k.pods[key]
	if past := k.past[key]; k.stale > 0 && past != nil {
		k.stale--
		pod, ok = past, true
	}
	if !ok {
		return nil, apierrors.NewNotFound(podResource, name)
	}
	return pod.DeepCopy(), nil
}

// GetNamespace implements home.Kube.
func (k *Kube) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	if err := k.enter(ctx, GetNamespace, name, nil); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ns, ok := k.namespaces[name]
	if !ok {
		return nil, apierrors.NewNotFound(namespaceResource, name)
	}
	return ns.DeepCopy(), nil
}

// GetResourceClaim implements home.Kube.
func (k *Kube) GetResourceClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	if err := k.enter(ctx, GetResourceClaim, name, nil); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.noClaims {
		return nil, home.ErrNoResourceClaims
	}
	claim, ok := k.claims[types.NamespacedName{Namespace: namespace, Name: name}]
	if !ok {
		return nil, apierrors.NewNotFound(claimResource, name)
	}
	return claim.DeepCopy(), nil
}

// PatchPodStatus implements home.Kube.
func (k *Kube) PatchPodStatus(ctx context.Context, namespace, name string, patch []byte) error {
	if err := k.enter(ctx, PatchPodStatus, name, patch); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	pod, ok := k.pods[key]
	if !ok {
		return apierrors.NewNotFound(podResource, name)
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return fmt.Errorf("encode pod %s: %w", key, err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, &corev1.Pod{})
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	var patched corev1.Pod
	if err := json.Unmarshal(after, &patched); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if patched.UID != pod.UID {
		return apierrors.NewConflict(podResource, name, fmt.Errorf(
			"precondition failed: UID in precondition: %s, UID in object meta: %s", patched.UID, pod.UID))
	}
	k.remember(key)
	pod.Status = patched.Status
	k.version(&pod.ObjectMeta)
	return nil
}

// version gives an object that has changed its next version.
func (k *Kube) version(meta *metav1.ObjectMeta) {
	k.versions++
	meta.ResourceVersion = fmt.Sprint(k.versions)
}

// born gives a new object what a server gives it.
func (k *Kube) born(meta *metav1.ObjectMeta) {
	if meta.UID == "" {
		k.uids++
		meta.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", k.uids))
	}
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = metav1.NewTime(k.clock.Now())
	}
	k.version(meta)
}
