package trusteddns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// TrustedDNSReconciler keeps the trusted DNS servers in the data plane as kube-dns
// changes: its endpoints come and go with the Pods of CoreDNS.
type TrustedDNSReconciler struct { //nolint:revive // the name is that of the public document
	// Cache reads the Service and its EndpointSlices.
	Cache kube.Reader

	// Static are trusted besides.
	Static []netip.Addr

	// Apply makes the data plane trust exactly these servers.
	Apply func(ctx context.Context, servers []netip.Addr) error

	Recorder cloak.Recorder
	Log      logr.Logger

	applied []netip.Addr
	done    bool // applied is what was applied last, even if nothing is in it
	told    int  // how many too many an event was about
}

// Reconcile finds the servers and applies them if they have changed since they were
// applied last. What cannot be read is not trusted; the error makes it be read again.
func (r *TrustedDNSReconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	servers, readErr := find(ctx, r.Cache, r.Static)
	r.tellOfMany(len(servers) - ServersMax)
	servers = servers[:min(len(servers), ServersMax)]
	if !r.done || !slices.Equal(servers, r.applied) {
		if err := r.Apply(ctx, servers); err != nil {
			// What is in the data plane now is not known.
			r.done = false
			return reconcile.Result{}, fmt.Errorf("trust DNS servers %v: %w", servers, err)
		}
		r.applied, r.done = servers, true
		r.Log.Info("Trusting DNS servers", "servers", servers)
	}
	return reconcile.Result{}, readErr
}

// tellOfMany records an event if there are too many servers, once for each number.
func (r *TrustedDNSReconciler) tellOfMany(excess int) {
	if excess = max(excess, 0); excess > 0 && excess != r.told {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: cloak.KubeDNSNamespace, Name: cloak.KubeDNSName}}
		r.Recorder.Event(svc, corev1.EventTypeWarning, "TooManyDNSServers", fmt.Sprintf(
			"%d endpoints are not trusted, since only %d DNS servers can be; answers from them are not believed", excess, ServersMax))
	}
	r.told = excess
}

// Controller returns what keeps the servers for as long as it is driven. Every request
// is about kube-dns.
func (r *TrustedDNSReconciler) Controller() kube.Controller {
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: cloak.KubeDNSNamespace, Name: cloak.KubeDNSName}}
	always := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{request} }
	return kube.Controller{
		Name:       "cloak-trusted-dns",
		Reconciler: r,
		Watches: []kube.Watch{
			{Object: &corev1.Service{}, Namespace: cloak.KubeDNSNamespace, Name: cloak.KubeDNSName, Requests: always},
			{
				Object: &discoveryv1.EndpointSlice{}, Namespace: cloak.KubeDNSNamespace, Requests: always,
				Selector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: cloak.KubeDNSName}),
			},
		},
		// Without kube-dns there is no event, and static servers are to be trusted.
		Start: []reconcile.Request{request},
	}
}
