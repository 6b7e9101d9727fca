package trusteddns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/cloak"
	"github.com/seedbed-sim/seedbed/core/kube"
)

// ServersMax is how many servers the data plane can trust. Those left out are endpoints
// before cluster IPs, and static ones last.
const ServersMax = 64

// TrustedDNSServers returns the DNS servers that are trusted, each once and always in
// this order: static; the cluster IPs of the Service kube-dns, of both families; the
// addresses of its endpoints, sorted. The endpoints are where answers come from when
// Services are balanced at the socket, as Cilium does.
//
// A read that fails leaves out the addresses it would have given, and is logged. There
// is no state in which everybody is trusted.
func TrustedDNSServers(ctx context.Context, reader kube.Reader, static []netip.Addr, log logr.Logger) []netip.Addr { //nolint:revive // the name is that of the public document
	servers, err := find(ctx, reader, static)
	if err != nil {
		log.Error(err, "Some DNS servers are not trusted")
	}
	return servers
}

// find returns the servers as far as they could be read. The error says what could not.
func find(ctx context.Context, reader kube.Reader, static []netip.Addr) ([]netip.Addr, error) {
	clusterIPs, err := clusterIPs(ctx, reader)
	if err != nil {
		err = fmt.Errorf("read Service %s/%s: %w", cloak.KubeDNSNamespace, cloak.KubeDNSName, err)
	}
	endpoints, sliceErr := endpoints(ctx, reader)
	if sliceErr != nil {
		sliceErr = fmt.Errorf("list EndpointSlices of %s/%s: %w", cloak.KubeDNSNamespace, cloak.KubeDNSName, sliceErr)
	}
	return unique(static, clusterIPs, endpoints), errors.Join(err, sliceErr)
}

// unique joins lists, leaving out what is there already or is no address.
func unique(lists ...[]netip.Addr) (out []netip.Addr) {
	seen := map[netip.Addr]bool{}
	for _, list := range lists {
		for _, a := range list {
			if a = a.Unmap(); a.IsValid() && !a.IsUnspecified() && !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

func clusterIPs(ctx context.Context, reader kube.Reader) (out []netip.Addr, err error) {
	var svc corev1.Service
	if err := reader.Get(ctx, client.ObjectKey{Namespace: cloak.KubeDNSNamespace, Name: cloak.KubeDNSName}, &svc); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	for _, ip := range append([]string{svc.Spec.ClusterIP}, svc.Spec.ClusterIPs...) {
		// Headless Services have "None".
		if a, err := netip.ParseAddr(ip); err == nil {
			out = append(out, a)
		}
	}
	return out, nil
}

// endpoints returns the addresses that answer: those on their way out still do, those
// that were never ready do not.
func endpoints(ctx context.Context, reader kube.Reader) (out []netip.Addr, err error) {
	var list discoveryv1.EndpointSliceList
	if err := reader.List(ctx, &list, client.InNamespace(cloak.KubeDNSNamespace), client.MatchingLabels{discoveryv1.LabelServiceName: cloak.KubeDNSName}); err != nil {
		return nil, err
	}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if !serves(e.Conditions) {
				continue
			}
			for _, address := range e.Addresses {
				if a, err := netip.ParseAddr(address); err == nil && a.Zone() == "" {
					out = append(out, a)
				}
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out, nil
}

// serves reads the conditions of an endpoint, of which those that are not set are true.
func serves(c discoveryv1.EndpointConditions) bool {
	if c.Serving != nil {
		return *c.Serving
	}
	return c.Ready == nil || *c.Ready
}
