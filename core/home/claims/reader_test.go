package claims_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/claims"
)

// server serves claims by some versions, and notes what it is asked.
type server struct {
	serves []string
	says   []string // that it serves, if that is something else
	bare   string   // the version that has no claims
	down   error
	gone   bool // the claim is not there
	asked  []string
}

func (s *server) HasClaims(_ context.Context, version string) (bool, error) {
	return version != s.bare, s.down
}

func (s *server) Versions(context.Context) ([]string, error) {
	s.asked = append(s.asked, "?")
	if s.says != nil {
		return s.says, s.down
	}
	return s.serves, s.down
}

func (s *server) Get(_ context.Context, version, _, name string) (*metav1.PartialObjectMetadata, error) {
	s.asked = append(s.asked, version)
	resource := schema.GroupResource{Group: claims.Group, Resource: "resourceclaims"}
	switch {
	case s.down != nil:
		return nil, s.down
	case !slices.Contains(s.serves, version):
		return nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "get", resource, name, "404 page not found", 0, true)
	case s.gone:
		return nil, apierrors.NewNotFound(resource, name)
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

// round returns a context as the n-th round has it.
func round(t *testing.T, n int) context.Context {
	t.Helper()
	start := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), start.Add(time.Duration(n)*time.Minute))
	t.Cleanup(cancel)
	return ctx
}

func TestReader(t *testing.T) {
	down := errors.New("connection refused")
	for _, c := range []struct {
		name   string
		server server
		change func(*server) // after the discovery
		reads  int           // in one round
		want   error         // of the last; nil: the claim
		text   string        // of the last
		asked  string
	}{
		{name: "the best version is read", server: server{serves: []string{"v1beta1", "v1", "v1beta2"}}, asked: "? v1"},
		{name: "the oldest will do", server: server{serves: []string{"v1alpha2", "v1alpha3"}}, asked: "? v1alpha3"},
		{name: "a version has other kinds only", server: server{serves: []string{"v1alpha3", "v1beta1"}, bare: "v1beta1"}, asked: "? v1alpha3"},
		{name: "no version has claims", server: server{serves: []string{"v1alpha3"}, bare: "v1alpha3"}, want: home.ErrNoResourceClaims, asked: "? ?"},
		{name: "none is served", want: home.ErrNoResourceClaims, asked: "? ?"},
		{name: "only versions of the future are served", server: server{serves: []string{"v2"}}, want: home.ErrNoResourceClaims, asked: "? ?"},
		{
			name: "an upgrade drops a version", server: server{serves: []string{"v1beta1"}},
			change: func(s *server) { s.serves = []string{"v1"} }, asked: "? v1beta1 ? v1",
		},
		{
			name: "the group is switched off", server: server{serves: []string{"v1"}},
			change: func(s *server) { s.serves = nil }, want: home.ErrNoResourceClaims, asked: "? v1 ?",
		},
		{
			name: "the group is switched on", change: func(s *server) { s.serves = []string{"v1beta2"} }, asked: "? ? v1beta2",
		},
		{
			name: "a round asks once what is served, and that holds for all its claims", reads: 3,
			want: home.ErrNoResourceClaims, asked: "? ?",
		},
		{
			name: "the claim is gone, and its version is not", server: server{serves: []string{"v1"}},
			change: func(s *server) { s.gone = true }, text: `resourceclaims.resource.k8s.io "c" not found`, asked: "? v1",
		},
		{
			name: "the server cannot be reached", server: server{serves: []string{"v1"}},
			change: func(s *server) { s.down = down }, want: down, asked: "? v1",
		},
		{
			name: "it cannot be asked what is served", change: func(s *server) { s.down = down }, want: down,
			text: "discover the versions of resource.k8s.io: connection refused", asked: "? ?",
		},
		{
			name: "the server says one thing and does another", server: server{serves: []string{"v1"}},
			change: func(s *server) { s.serves, s.says = nil, []string{"v1"} }, reads: 2,
			text: "does not know the path of resource claims, and says that it serves them", asked: "? v1 ? v1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.server
			r := claims.NewReader(&s)
			if err := r.Discover(round(t, 0)); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(&s)
			}
			var claim *metav1.PartialObjectMetadata
			var err error
			ctx := round(t, 1)
			for range max(c.reads, 1) {
				claim, err = r.Get(ctx, "ns", "c")
			}
			if c.want == nil && c.text == "" {
				if err != nil || claim.Name != "c" {
					t.Errorf("claim %v, error %v", claim, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v %s", err, c.want, c.text)
			}
			if d := cmp.Diff(c.asked, strings.Join(s.asked, " ")); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
		})
	}
}

// TestEachRoundAsksAgain: what is not served in one round may be in the next, and who
// gives no deadline is no round.
func TestEachRoundAsksAgain(t *testing.T) {
	s := &server{}
	r := claims.NewReader(s)
	for n := range 3 {
		ctx := round(t, n)
		for range 2 {
			if _, err := r.Get(ctx, "ns", "c"); !errors.Is(err, home.ErrNoResourceClaims) {
				t.Fatalf("round %d: %v", n, err)
			}
		}
	}
	if len(s.asked) != 3 {
		t.Errorf("3 rounds asked %d times", len(s.asked))
	}
	s.serves = []string{"v1"}
	if _, err := r.Get(t.Context(), "ns", "c"); err != nil {
		t.Errorf("without a deadline: %v", err)
	}
	s.serves = nil
	if _, err := r.Get(t.Context(), "ns", "c"); !errors.Is(err, home.ErrNoResourceClaims) {
		t.Errorf("without a deadline, later: %v", err)
	}
}
