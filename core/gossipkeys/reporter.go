package gossipkeys

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/core/kube"
)

// ReportAnnotation on a Node holds the Report of its agent as JSON.
const ReportAnnotation = "gossipkeys.seedbed.dev/applied"

// NodeReporter writes a node's report to its own Node. There a report comes and
// goes with the node it is about, no object needs creating or collecting, nodes
// never write to the same object, and the Rotator finds the nodes and their
// reports in one list.
type NodeReporter struct {
	live  kube.Kube
	cache kube.Reader
	node  string
}

// NewNodeReporter returns the reporter of the named node. It patches through
// live, and only when the Node in cache does not say the same already.
func NewNodeReporter(live kube.Kube, cache kube.Reader, node string) *NodeReporter {
	return &NodeReporter{live: live, cache: cache, node: node}
}

// Report writes r as an annotation.
func (n *NodeReporter) Report(ctx context.Context, r Report) error {
	var node corev1.Node
	if err := n.cache.Get(ctx, client.ObjectKey{Name: n.node}, &node); err != nil {
		return fmt.Errorf("read Node %s: %w", n.node, err)
	}
	if there, ok := ReportOf(&node); ok && there.Same(r) {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{ReportAnnotation: string(text)}},
	})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	target := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.node}}
	if err := n.live.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("report on Node %s: %w", n.node, err)
	}
	return nil
}

// ReportOf reads the report on a Node. A Node with none that can be read has
// not reported.
func ReportOf(node *corev1.Node) (Report, bool) {
	var r Report
	text, ok := node.Annotations[ReportAnnotation]
	if !ok || json.Unmarshal([]byte(text), &r) != nil || len(r.Keys) == 0 {
		return Report{}, false
	}
	return r, true
}

// Same reports whether both reports say the same of the ring, at whatever time.
func (r Report) Same(other Report) bool {
	return r.Version == other.Version && slices.Equal(r.Keys, other.Keys)
}
