package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/home"
)

// Group is the API group of ResourceClaims.
const Group = "resource.k8s.io"

// versions are those by which a claim can be read, the best first.
var versions = []string{"v1", "v1beta2", "v1beta1", "v1alpha3"}

// API is what a Reader needs of the cluster.
type API interface {
	// Versions returns the versions of the group that are served, in any order. That
	// the server cannot be asked is an error, and not an empty answer.
	Versions(ctx context.Context) ([]string, error)

	// HasClaims reports whether a version that is served has claims: one may be
	// served for another kind's sake.
	HasClaims(ctx context.Context, version string) (bool, error)

	// Get reads the metadata of a claim by a version.
	Get(ctx context.Context, version, namespace, name string) (*metav1.PartialObjectMetadata, error)
}

// Reader reads claims by the best version that is served. Its methods may be called
// from several tasks.
type Reader struct {
	api API

	mu      sync.Mutex
	version string    // by which claims are read; empty if by none
	asked   time.Time // the deadline of who asked last what is served
}

// NewReader returns a reader that knows nothing yet.
func NewReader(api API) *Reader { return &Reader{api: api} }

// Discover asks what is served.
func (r *Reader) Discover(ctx context.Context) error {
	best, err := r.best(ctx)
	if err != nil {
		return fmt.Errorf("discover the versions of %s: %w", Group, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = best
	r.asked, _ = ctx.Deadline()
	return nil
}

// best returns the best version by which claims can be read; empty if there is none.
func (r *Reader) best(ctx context.Context) (string, error) {
	served, err := r.api.Versions(ctx)
	if err != nil {
		return "", err
	}
	for _, v := range versions {
		if !slices.Contains(served, v) {
			continue
		}
		if has, err := r.api.HasClaims(ctx, v); has || err != nil {
			return v, err
		}
	}
	return "", nil
}

var errUnclear = errors.New("the server does not know the path of resource claims, and says that it serves them")

// Get reads the metadata of a claim. It returns home.ErrNoResourceClaims when the
// cluster serves no version that it could be read by.
func (r *Reader) Get(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	before, mayAsk := r.known(ctx)
	if before != "" {
		claim, err := r.api.Get(ctx, before, namespace, name)
		if !unserved(err) {
			return claim, err
		}
	}
	if mayAsk {
		if err := r.Discover(ctx); err != nil {
			return nil, err
		}
	}
	switch now, _ := r.known(ctx); now {
	case "":
		return nil, home.ErrNoResourceClaims
	case before:
		return nil, errUnclear // a server that is starting, or one of several
	default:
		return r.api.Get(ctx, now, namespace, name)
	}
}

// known returns the version that claims are read by, and whether it may be asked anew
// what is served: once in a round, which is told by its deadline.
func (r *Reader) known(ctx context.Context) (version string, mayAsk bool) {
	deadline, limited := ctx.Deadline()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version, !limited || !deadline.Equal(r.asked)
}

// unserved reports whether err says that the server does not know the path: no word
// about the claim.
func unserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
}
