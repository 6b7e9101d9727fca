package home

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/seedbed-sim/seedbed/core/home"
)

const claimGroup = "resource.k8s.io"

// claimVersions are those that a claim can be read by, the best first.
var claimVersions = []string{"v1", "v1beta2", "v1beta1", "v1alpha3"}

// rediscoverEvery is how often, at most, the server is asked which versions it serves.
const rediscoverEvery = 5 * time.Second

// fieldManager is who sets the condition, in the managed fields of the Pod.
const fieldManager = "fiberd"

// kube is home.Kube on a real cluster.
type kube struct {
	core     kubernetes.Interface
	metadata metadata.Interface
	groups   rest.Interface

	mu         sync.Mutex
	version    string // of resource.k8s.io; empty if there is none
	discovered time.Time
}

// NewKube connects to the cluster that cfg names and discovers which version of
// resource.k8s.io it serves. A cluster without that group still works, and
// GetResourceClaim then returns home.ErrNoResourceClaims. A discovery that fails is an
// error. When versions change later, that is noticed.
func NewKube(ctx context.Context, cfg *rest.Config) (home.Kube, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make an HTTP client of the cluster: %w", err)
	}
	k, err := newKube(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	if err := k.discover(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

func newKube(cfg *rest.Config, client *http.Client) (*kube, error) {
	core, err := kubernetes.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, err
	}
	return &kube{core: core, metadata: meta, groups: core.Discovery().RESTClient()}, nil
}

// discover finds the version that claims are read by.
func (k *kube) discover(ctx context.Context) error {
	version, err := k.bestVersion(ctx)
	if err != nil {
		return fmt.Errorf("discover the versions of %s: %w", claimGroup, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version, k.discovered = version, time.Now()
	return nil
}

// bestVersion returns the best version that serves claims; empty if there is none. It
// asks the server what it serves, because a path that is not there may have many
// reasons.
func (k *kube) bestVersion(ctx context.Context) (string, error) {
	groups := &metav1.APIGroupList{}
	if err := k.groups.Get().AbsPath("apis").Do(ctx).Into(groups); err != nil {
		return "", err
	}
	served := map[string]bool{}
	for _, g := range groups.Groups {
		if g.Name == claimGroup {
			for _, v := range g.Versions {
				served[v.Version] = true
			}
		}
	}
	for _, version := range claimVersions {
		if !served[version] {
			continue
		}
		list := &metav1.APIResourceList{}
		if err := k.groups.Get().AbsPath("apis", claimGroup, version).Do(ctx).Into(list); err != nil {
			return "", err
		}
		for _, r := range list.APIResources {
			if r.Name == "resourceclaims" {
				return version, nil
			}
		}
	}
	return "", nil
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
	version := k.served()
	if version != "" {
		claim, err := k.claim(ctx, version, namespace, name)
		// A server that does not know the version any more says so in plain text: it
		// is no word about the claim.
		if !apierrors.IsNotFound(err) || !apierrors.IsUnexpectedServerError(err) {
			return claim, err
		}
	}
	if err := k.rediscover(ctx); err != nil {
		return nil, err
	}
	switch now := k.served(); now {
	case "":
		return nil, home.ErrNoResourceClaims
	case version:
		return nil, errUnclear
	default:
		return k.claim(ctx, now, namespace, name)
	}
}

var errUnclear = errors.New("the server does not know the path of resource claims, and says that it serves them")

func (k *kube) claim(ctx context.Context, version, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	gvr := schema.GroupVersionResource{Group: claimGroup, Version: version, Resource: "resourceclaims"}
	return k.metadata.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (k *kube) served() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.version
}

// rediscover discovers again, unless that was a moment ago.
func (k *kube) rediscover(ctx context.Context) error {
	k.mu.Lock()
	recent := time.Since(k.discovered) < rediscoverEvery
	k.mu.Unlock()
	if recent {
		return nil
	}
	return k.discover(ctx)
}
