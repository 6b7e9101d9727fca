package home_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// The public document of fiberd's Kubernetes home, v0.4.0, name by name. NewKube is in
// realmode/home, since this package knows no client.

// kube is Kube with its four methods.
var _ home.Kube = interface {
	GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error)
	GetResourceClaim(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error)
	PatchPodStatus(ctx context.Context, namespace, name string, patch []byte) error
}(nil)

// The methods of Home. Grants returns a lane where the document has a channel.
var _ interface {
	CgroupRoot() string
	Close()
	Devices(ctx context.Context, g grant.Grant) (home.DeviceChannel, func(), error)
	EndpointHost() string
	Grants(ctx context.Context) (*home.Lane, error)
	Health() *home.SourceHealth
	Name() string
	OnScopeLost(fn func(ctx context.Context, reason string))
	OwnGrant() ([]byte, bool)
	PublishReady(ctx context.Context, grantUID string, ready bool) error
	Ready() bool
	Run(ctx context.Context)
	Scope() []home.ScopeClaim
	SelfAdmitUID() string
	SetIssuerReachable(reachable bool)
} = (*home.Home)(nil)

var (
	_ func(context.Context, home.Config) (*home.Home, error) = home.New
	_ func(home.Config) error                                = home.Config.Validate
)

func TestConstantsAreTheDocuments(t *testing.T) {
	for _, c := range []struct{ name, got, want any }{
		{"Name", home.Name, "kubernetes"},
		{"DefaultStaleTTL", home.DefaultStaleTTL, 30 * time.Second},
		{"DefaultGrantsPoll", home.DefaultGrantsPoll, 2 * time.Second},
		{"DefaultGrantFetchTimeout", home.DefaultGrantFetchTimeout, 60 * time.Second},
		{"PodConditionZygoteReady", home.PodConditionZygoteReady, "fiberd.io/zygote-ready"},
		{"ReasonTemplateWarm", home.ReasonTemplateWarm, "TemplateWarm"},
		{"ReasonNoWarmTemplate", home.ReasonNoWarmTemplate, "NoWarmTemplate"},
		{"GrantAdded", string(home.GrantAdded), "GrantAdded"},
		{"GrantRemoved", string(home.GrantRemoved), "GrantRemoved"},
		{"Unix", string(home.Unix), "unix"},
		{"Inet4", string(home.Inet4), "inet4"},
		{"Inet6", string(home.Inet6), "inet6"},
		{"ErrNoResourceClaims", home.ErrNoResourceClaims.Error(), "the cluster serves no resource.k8s.io API"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestConfigHasTheDocumentsFields, and beside them only the ports.
func TestConfigHasTheDocumentsFields(t *testing.T) {
	want := []string{
		"Kube", "PodName", "PodNamespace", "PodUID", "StaleTTL", "Poll", "GrantsDir", "GrantsPoll", "GrantTokenFile",
		"GrantIssuerURL", "GrantCAFile", "GrantFetchTimeout", "Cache", "Family", "Devices", "CgroupRoot",
		"Cgroups", // a port
		"Clock",
		"Files", "Web", "Jitter", // ports
		"Logger",
	}
	var got []string
	for f := range reflect.TypeFor[home.Config]().Fields() {
		got = append(got, f.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
}

// TestDefaultsAreTheDocuments, as they show in what a home does.
func TestDefaultsAreTheDocuments(t *testing.T) {
	inPod(t, func(l *lab) {
		l.withoutFetch()
		h := l.newHome()
		defer l.run(h)()
		l.sleep(31 * time.Second)
		var rounds []time.Duration
		for _, c := range l.kube.Calls() {
			if c.Verb == "get pod" {
				rounds = append(rounds, c.Deadline.Sub(c.At))
			}
		}
		if d := cmp.Diff([]time.Duration{15 * time.Second, 15 * time.Second, 15 * time.Second}, rounds); d != "" {
			t.Errorf("the time that rounds have (-want +got):\n%s", d)
		}
		if h.Name() != home.Name || h.SelfAdmitUID() != l.uid || h.CgroupRoot() != "" {
			t.Errorf("name %q, self-admit UID %q, cgroup %q", h.Name(), h.SelfAdmitUID(), h.CgroupRoot())
		}
		if token, held := h.OwnGrant(); held {
			t.Errorf("without a fetch it holds a grant of %d bytes", len(token))
		}
		if h.EndpointHost() != "" {
			t.Error("a home of no family has an address")
		}
	})
}

// delegated is home.Cgroups.
type delegated struct {
	root string
	err  error
}

func (d delegated) Delegate(context.Context) (string, error) { return d.root, d.err }

// TestCgroupRoot is the configured one, or the one that is delegated.
func TestCgroupRoot(t *testing.T) {
	errDenied := errors.New("permission denied")
	for _, c := range []struct {
		name     string
		root     string
		cgroups  home.Cgroups
		want     string
		wrongful error
	}{
		{"none", "", nil, "", nil},
		{"configured", "/sys/fs/cgroup/work", delegated{err: errDenied}, "/sys/fs/cgroup/work", nil},
		{"delegated", "", delegated{root: "/sys/fs/cgroup/own/grants"}, "/sys/fs/cgroup/own/grants", nil},
		{"not to be had", "", delegated{err: errDenied}, "", errDenied},
	} {
		inPod(t, func(l *lab) {
			l.withoutFetch()
			l.cfg.CgroupRoot, l.cfg.Cgroups = c.root, c.cgroups
			h, err := home.New(l.ctx, l.cfg)
			if !errors.Is(err, c.wrongful) || err == nil && h.CgroupRoot() != c.want {
				t.Errorf("%s: error %v", c.name, err)
			}
		})
	}
}

var _ = home.GrantEvent{Kind: home.GrantAdded, Token: secret.Bytes{}, UID: ""}
