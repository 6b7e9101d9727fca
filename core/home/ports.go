package home

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// Kube is the slice of the Kubernetes API that a home touches. Errors are those of
// k8s.io/apimachinery's api/errors. It may be called from several tasks.
type Kube interface {
	// GetPod reads one Pod.
	GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error)

	// GetNamespace reads one Namespace.
	GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error)

	// GetResourceClaim reads the metadata of one ResourceClaim, which is all that
	// the home needs from it. It returns ErrNoResourceClaims when the cluster serves
	// no resource.k8s.io group.
	GetResourceClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error)

	// PatchPodStatus applies a strategic merge patch to the Pod's status
	// subresource.
	PatchPodStatus(ctx context.Context, namespace, name string, patch []byte) error
}

// ErrNoResourceClaims is what GetResourceClaim returns when the cluster serves no
// resource.k8s.io group, so no ResourceClaim can be read.
var ErrNoResourceClaims = errors.New("the cluster serves no resource.k8s.io API")

// Files is the file system as far as the home needs it. Errors for what is not there
// wrap fs.ErrNotExist. Names are slash-separated paths.
type Files interface {
	// MkdirAll makes a directory that only its owner may use, and those above it.
	MkdirAll(ctx context.Context, dir string) error

	// List returns the names in a directory, sorted.
	List(ctx context.Context, dir string) ([]string, error)

	// Regular reports whether name, or what it is a symbolic link to, is a regular
	// file: reading anything else might never end.
	Regular(ctx context.Context, name string) (bool, error)

	// ReadFile returns the content of a file, but no more than limit bytes of it.
	ReadFile(ctx context.Context, name string, limit int) ([]byte, error)

	// WriteFile writes a file that only its owner may read, in place of one that is
	// there. It is not safe before Sync.
	WriteFile(ctx context.Context, name string, data []byte) error

	// Sync makes what was written to a file survive a power failure.
	Sync(ctx context.Context, name string) error

	// SyncDir makes the names in a directory survive a power failure.
	SyncDir(ctx context.Context, dir string) error

	// Rename gives a file another name, in place of a file that has it.
	Rename(ctx context.Context, from, to string) error

	// Remove removes a file.
	Remove(ctx context.Context, name string) error
}

// Web makes HTTPS requests; see [grant.Web].
type Web = grant.Web

// Cgroups hands over cgroups.
type Cgroups interface {
	// Delegate moves this process into the leaf "fiberd" of the cgroup that it runs
	// in, and returns the path of the child "grants" beside it, for work.
	Delegate(ctx context.Context) (root string, err error)
}

// KeyCache holds the keys of the issuer; [grant.Cache] is one.
type KeyCache interface {
	// Refresh asks the issuer for its keys.
	Refresh(ctx context.Context) error
}
