package home

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/home"
)

// kubeClient is home.Kube over the simulated API path: a typed client for Pods and
// Namespaces, one for metadata for claims.
//
// The simulated API servers serve resource.k8s.io in one version only. That a cluster
// serves another, or none, is decided here, where the answer arrives; the request and
// its answer travel as any other. Discovery is one more request on the same path.
type kubeClient struct {
	client client.Client
	clock  clock.Clock
	state  *State
	slot   *slot
	every  time.Duration // between two discoveries, at least

	version string // as discovered last
	asked   time.Duration
}

var _ home.Kube = (*kubeClient)(nil)

// flap is a wrong answer that is to come.
type flap struct {
	path  bool // the server does not know the path, rather than the object
	times int
}

// GetPod implements home.Kube.
func (k *kubeClient) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	if err := k.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod); err != nil {
		return nil, err
	}
	if err := k.flapped(name); err != nil {
		return nil, err
	}
	return &pod, nil
}

// flapped returns the wrong answer that is due.
func (k *kubeClient) flapped(name string) error {
	if len(k.slot.flaps) == 0 {
		return nil
	}
	f := &k.slot.flaps[0]
	path := f.path
	if f.times--; f.times <= 0 {
		k.slot.flaps = k.slot.flaps[1:]
	}
	if path {
		return noSuchPath("pods", name)
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

// noSuchPath is what a client makes of "404 page not found".
func noSuchPath(resource, name string) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{Resource: resource}, name,
		"404 page not found", 0, true)
}

// GetNamespace implements home.Kube.
func (k *kubeClient) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	var ns corev1.Namespace
	if err := k.client.Get(ctx, client.ObjectKey{Name: name}, &ns); err != nil {
		return nil, err
	}
	return &ns, nil
}

// GetResourceClaim implements home.Kube.
func (k *kubeClient) GetResourceClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	if do := k.slot.ambush; do != nil {
		k.slot.ambush = nil
		do()
	}
	for range 2 {
		if k.version == "" {
			if err := k.discover(ctx); err != nil {
				return nil, err
			}
		}
		if k.version == "" {
			return nil, home.ErrNoResourceClaims
		}
		claim, err := k.readClaim(ctx, namespace, name)
		if !apierrors.IsUnexpectedServerError(err) {
			return claim, err
		}
		k.version = "" // it is served no longer; perhaps another is
	}
	return nil, home.ErrNoResourceClaims
}

func (k *kubeClient) readClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	var claim metav1.PartialObjectMetadata
	claim.SetGroupVersionKind(resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"))
	err := k.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &claim)
	var status apierrors.APIStatus
	switch answered := err == nil || errors.As(err, &status); {
	case answered && k.state.served != k.version:
		return nil, noSuchPath("resourceclaims", name)
	case err != nil:
		return nil, err
	}
	return &claim, nil
}

// discover asks which version is served, unless it has just been asked.
func (k *kubeClient) discover(ctx context.Context) error {
	now := k.clock.Monotonic()
	if k.asked != 0 && now-k.asked < k.every {
		return nil
	}
	if _, err := k.GetNamespace(ctx, Namespace); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("discover the versions of resource.k8s.io: %w", err)
	}
	k.asked = now
	k.version = k.state.served
	return nil
}

// PatchPodStatus implements home.Kube.
func (k *kubeClient) PatchPodStatus(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := k.patch(ctx, namespace, name, patch)
	return err
}

// patch returns the Pod that was patched.
func (k *kubeClient) patch(ctx context.Context, namespace, name string, patch []byte) (*corev1.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := k.client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch))
	return pod, err
}
