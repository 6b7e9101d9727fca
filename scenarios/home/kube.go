package home

import (
	"context"
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/claims"
)

// kubeClient is home.Kube over the simulated API path: a typed client for Pods and
// Namespaces, one for metadata for claims, which the production code reads.
//
// The simulated API servers serve resource.k8s.io in one version only. That a cluster
// serves another, or none, is decided here, where the answer arrives; the request and
// its answer travel as any other. Discovery is one more request on the same path.
type kubeClient struct {
	client client.Client
	claims *claims.Reader
	state  *State
	slot   *slot
}

var _ home.Kube = (*kubeClient)(nil)

func (s *State) newKubeClient(c client.Client, sl *slot) *kubeClient {
	k := &kubeClient{client: c, state: s, slot: sl}
	k.claims = claims.NewReader(claimAPI{k})
	return k
}

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
	return k.claims.Get(ctx, namespace, name)
}

// claimAPI is claims.API.
type claimAPI struct{ *kubeClient }

// Versions implements claims.API.
func (a claimAPI) Versions(ctx context.Context) ([]string, error) {
	if _, err := a.GetNamespace(ctx, Namespace); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if a.state.served == "" {
		return nil, nil
	}
	return []string{a.state.served}, nil
}

// HasClaims implements claims.API.
func (claimAPI) HasClaims(context.Context, string) (bool, error) { return true, nil }

// Get implements claims.API.
func (a claimAPI) Get(ctx context.Context, version, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	var claim metav1.PartialObjectMetadata
	claim.SetGroupVersionKind(resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"))
	err := a.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &claim)
	var status apierrors.APIStatus
	switch answered := err == nil || errors.As(err, &status); {
	case answered && a.state.served != version:
		return nil, noSuchPath("resourceclaims", name)
	case err != nil:
		return nil, err
	}
	return &claim, nil
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
