package home

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/claims"
)

// fieldManager is who sets the condition, in the managed fields of the Pod.
const fieldManager = "fiberd"

// kube is home.Kube on a real cluster.
type kube struct {
	core   kubernetes.Interface
	claims *claims.Reader
}

// NewKube connects to the cluster that cfg names and discovers which version of
// resource.k8s.io it serves. A cluster without that group still works, and
// GetResourceClaim then returns home.ErrNoResourceClaims. A discovery that fails is an
// error. When versions change later, the next round notices; see package claims.
func NewKube(ctx context.Context, cfg *rest.Config) (home.Kube, error) {
	k, err := newKube(cfg)
	if err != nil {
		return nil, err
	}
	if err := k.claims.Discover(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// Connect is NewKube for who must start while the API server is down, as an agent must
// whose container has ended: it asks nothing. What is served is discovered when a claim
// is read first.
func Connect(cfg *rest.Config) (home.Kube, error) { return newKube(cfg) }

func newKube(cfg *rest.Config) (*kube, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make an HTTP client of the cluster: %w", err)
	}
	core, err := kubernetes.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	meta, err := metadata.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster's metadata: %w", err)
	}
	return &kube{core: core, claims: claims.NewReader(&claimAPI{metadata: meta, groups: core.Discovery().RESTClient()})}, nil
}

// GetPod implements home.Kube.
func (k *kube) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return k.core.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// GetNamespace implements home.Kube.
func (k *kube) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return k.core.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
}

// PatchPodStatus implements home.Kube.
func (k *kube) PatchPodStatus(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := k.core.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager}, "status")
	return err
}

// GetResourceClaim implements home.Kube.
func (k *kube) GetResourceClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	return k.claims.Get(ctx, namespace, name)
}

// claimAPI is claims.API. It asks the server what it serves, because a path that is not
// there may have many reasons.
type claimAPI struct {
	metadata metadata.Interface
	groups   rest.Interface
}

// Versions implements claims.API.
func (a *claimAPI) Versions(ctx context.Context) ([]string, error) {
	list := &metav1.APIGroupList{}
	if err := a.groups.Get().AbsPath("apis").Do(ctx).Into(list); err != nil {
		return nil, err
	}
	var versions []string
	for _, g := range list.Groups {
		if g.Name == claims.Group {
			for _, v := range g.Versions {
				versions = append(versions, v.Version)
			}
		}
	}
	return versions, nil
}

const claimResource = "resourceclaims"

// HasClaims implements claims.API.
func (a *claimAPI) HasClaims(ctx context.Context, version string) (bool, error) {
	list := &metav1.APIResourceList{}
	if err := a.groups.Get().AbsPath("apis", claims.Group, version).Do(ctx).Into(list); err != nil {
		return false, err
	}
	isClaims := func(r metav1.APIResource) bool { return r.Name == claimResource }
	return slices.ContainsFunc(list.APIResources, isClaims), nil
}

// Get implements claims.API.
func (a *claimAPI) Get(ctx context.Context, version, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	gvr := schema.GroupVersionResource{Group: claims.Group, Version: version, Resource: claimResource}
	return a.metadata.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}
