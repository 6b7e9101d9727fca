package gossipkeys

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// NodePeers takes the Nodes for the peers.
type NodePeers struct {
	settings
	cache kube.Reader
	port  uint16
}

// NewNodePeers returns the Peers that listen at the given port of the internal
// address of every Node. The Nodes are read through cache.
//
// Options: WithNodes.
func NewNodePeers(cache kube.Reader, port uint16, opts ...Option) *NodePeers {
	return &NodePeers{settings: newSettings("", opts), cache: cache, port: port}
}

// Peers lists the peers by name. A Node without an internal address is left
// out: it gets one before its agent can be reached. A Node that is not Ready is
// listed, since its agent may be well.
func (p *NodePeers) Peers(ctx context.Context) ([]Peer, error) {
	var nodes corev1.NodeList
	if err := p.cache.List(ctx, &nodes, client.MatchingLabelsSelector{Selector: p.nodes}); err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	peers := make([]Peer, 0, len(nodes.Items))
	for i := range nodes.Items {
		if ip, ok := internalIP(&nodes.Items[i]); ok {
			peers = append(peers, Peer{Name: nodes.Items[i].Name, Addr: netip.AddrPortFrom(ip, p.port)})
		}
	}
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Compare(a.Name, b.Name) })
	return peers, nil
}

func internalIP(node *corev1.Node) (netip.Addr, bool) {
	for _, address := range node.Status.Addresses {
		if address.Type != corev1.NodeInternalIP {
			continue
		}
		if ip, err := netip.ParseAddr(address.Address); err == nil {
			return ip, true
		}
	}
	return netip.Addr{}, false
}
