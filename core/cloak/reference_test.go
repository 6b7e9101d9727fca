package cloak_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/cloak/node"
	"github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/cloak/secretsync"
	"github.com/seedbed-sim/seedbed/core/cloak/shadow"
	"github.com/seedbed-sim/seedbed/core/cloak/trusteddns"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// Constants of the public document of Kloak's controller: whoever moves from one to the
// other finds the same.
func TestConstantsOfTheDocument(t *testing.T) {
	got := map[string]any{
		"AnnotationEnabled": cloak.AnnotationEnabled, "CgroupBasePath": cloak.CgroupBasePath,
		"AnnotationSecretEnabled": cloak.AnnotationSecretEnabled, "AnnotationPort": cloak.AnnotationPort, "AnnotationHosts": cloak.AnnotationHosts,
		"ShadowSecretSuffix": cloak.ShadowSecretSuffix, "KubeDNSNamespace": cloak.KubeDNSNamespace, "KubeDNSName": cloak.KubeDNSName,
		"DefaultNRISocket": cloak.DefaultNRISocket, "DefaultSecretResyncPeriod": cloak.DefaultSecretResyncPeriod,
		"DefaultHostRoot": nri.DefaultHostRoot,
	}
	want := map[string]any{
		"AnnotationEnabled": "getkloak.io/enabled", "CgroupBasePath": "/sys/fs/cgroup",
		"AnnotationSecretEnabled": "getkloak.io/enabled", "AnnotationPort": "getkloak.io/port", "AnnotationHosts": "getkloak.io/hosts",
		"ShadowSecretSuffix": "-kloak", "KubeDNSNamespace": "kube-system", "KubeDNSName": "kube-dns",
		"DefaultNRISocket": "/var/run/nri/nri.sock", "DefaultSecretResyncPeriod": 5 * time.Minute,
		"DefaultHostRoot": "/proc/1/root",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-document +here):\n%s", diff)
	}
}

// Types and methods of the public document, with the ports of this module in place of a
// client, a manager and a logger of its own. What does not compile has another name.
var (
	_ node.Preparer = (*node.Reconciler)(nil)

	_ func(*node.Reconciler) int                                              = (*node.Reconciler).GetTrackedPodCount
	_ func(*node.Reconciler, context.Context, *node.Sandbox) bool             = (*node.Reconciler).PrepareSandbox
	_ func(*node.Reconciler, context.Context, *node.Sandbox, *node.Container) = (*node.Reconciler).PrepareContainer

	_ reconcile.Reconciler = (*node.Reconciler)(nil)
	_ reconcile.Reconciler = (*shadow.SecretReconciler)(nil)
	_ reconcile.Reconciler = (*secretsync.SecretSyncReconciler)(nil)
	_ reconcile.Reconciler = (*trusteddns.TrustedDNSReconciler)(nil)

	_ func(context.Context, kube.Reader, []netip.Addr, logr.Logger) []netip.Addr = trusteddns.TrustedDNSServers

	_ = node.Config{Cache: nil, APIReader: nil, NodeName: ""}
	_ = node.Sandbox{ID: "", UID: "", Namespace: "", Name: "", Annotations: map[string]string{}, NetnsPath: "", IPs: []netip.Addr{}}
	_ = nri.Plugin{Preparer: nil, SocketPath: "", HostRoot: "", RetryAfterClose: time.Second}
	_ = secretsync.SecretSyncReconciler{Sync: nil, ResyncPeriod: 0}
	_ = trusteddns.TrustedDNSReconciler{Static: nil, Apply: nil}
)
