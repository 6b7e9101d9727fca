package deployer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/kube"
)

const (
	// ControlPlaneLabel is that of nodes of the control plane.
	ControlPlaneLabel = "node-role.kubernetes.io/control-plane"

	// SeenFor is how long a node counts after an API server was last seen on it: as long
	// as the Lease lasts by which API servers say that they are there.
	SeenFor = time.Hour
)

// ControlPlane knows the nodes that run an API server, or should: those that say that
// they are of the control plane, and those that an API server was lately seen on. For
// a node that has lost its label, or its Node object, may still answer.
type ControlPlane struct {
	Live  kube.Reader
	Clock clock.Clock

	// Namespace and Selector of the API servers' Pods.
	Namespace string
	Selector  labels.Selector

	mu   sync.Mutex
	seen map[string]time.Time
}

// Nodes returns the names, sorted. It may be called from several tasks.
func (p *ControlPlane) Nodes(ctx context.Context) ([]string, error) {
	nodes := &corev1.NodeList{}
	if err := p.Live.List(ctx, nodes, client.HasLabels{ControlPlaneLabel}); err != nil {
		return nil, fmt.Errorf("list the nodes of the control plane: %w", err)
	}
	pods := &corev1.PodList{}
	if err := p.Live.List(ctx, pods, client.InNamespace(p.Namespace), client.MatchingLabelsSelector{Selector: p.Selector}); err != nil {
		return nil, fmt.Errorf("list the Pods of API servers in %s: %w", p.Namespace, err)
	}
	now := p.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]time.Time{}
	}
	for i := range pods.Items {
		if name := pods.Items[i].Spec.NodeName; name != "" {
			p.seen[name] = now
		}
	}
	maps.DeleteFunc(p.seen, func(_ string, at time.Time) bool { return now.Sub(at) > SeenFor })
	names := slices.Collect(maps.Keys(p.seen))
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
