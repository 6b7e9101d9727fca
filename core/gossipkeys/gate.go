package gossipkeys

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NodeState is where a node stands with respect to the list in the Secret.
type NodeState string

const (
	// NodeCurrent: it reports this very list, in this version.
	NodeCurrent NodeState = "current"
	// NodeBehind: it reports something else.
	NodeBehind NodeState = "behind"
	// NodeSilent: it has reported nothing.
	NodeSilent NodeState = "silent"
	// NodeGone: it is not current, and has not been Ready for longer than
	// GoneAfter. Nobody waits for it.
	NodeGone NodeState = "gone"
)

// NodeProgress is one node's standing.
type NodeProgress struct {
	Name   string
	State  NodeState
	Report Report // zero if there is none
}

// gate is the evidence for the next step: where each node stands.
//
// The rule for nodes that are away: a Node that was deleted does not count any
// more, since it is not in the list. A Node that has not been Ready for longer
// than goneAfter does not count while that lasts; it counts again as soon as it
// is Ready. When its agent starts again it reads the list afresh. If the agent
// never stopped, and only its node was cut off from the API, it may be deaf
// until it has caught up; its peers took it for dead long before, or its kubelet
// alone was down, and goneAfter was too short. Every other Node counts, Ready or
// not, whether or not it ever reported.
type gate struct {
	nodes []NodeProgress

	// recheck is when the first of the nodes waited for would be gone; zero if
	// waiting makes none gone.
	recheck time.Duration
}

func newGate(nodes []corev1.Node, s *state, goneAfter time.Duration, now time.Time) gate {
	var g gate
	want := Report{Version: s.version, Keys: s.keys.Fingerprints()}
	for i := range nodes {
		node := &nodes[i]
		report, reported := ReportOf(node)
		progress := NodeProgress{Name: node.Name, State: NodeBehind, Report: report}
		since, away := notReadySince(node)
		left := goneAfter - now.Sub(since)
		switch {
		case reported && report.Same(want):
			progress.State = NodeCurrent
		case goneAfter > 0 && away && left <= 0:
			progress.State = NodeGone
		case !reported:
			progress.State = NodeSilent
		}
		if goneAfter > 0 && away && left > 0 && progress.State != NodeCurrent && (g.recheck == 0 || left < g.recheck) {
			g.recheck = left
		}
		g.nodes = append(g.nodes, progress)
	}
	slices.SortFunc(g.nodes, func(a, b NodeProgress) int { return cmp.Compare(a.Name, b.Name) })
	return g
}

// pass reports whether every node that counts is current. With no node at all
// that is current there is no evidence, so a wrong selector passes nothing.
func (g gate) pass() bool { return g.count(NodeCurrent) > 0 && len(g.waiting()) == 0 }

// waiting names the nodes that count and are not current.
func (g gate) waiting() []string {
	var names []string
	for _, n := range g.nodes {
		if n.State == NodeBehind || n.State == NodeSilent {
			names = append(names, n.Name)
		}
	}
	return names
}

func (g gate) count(state NodeState) int {
	count := 0
	for _, n := range g.nodes {
		if n.State == state {
			count++
		}
	}
	return count
}

// notReadySince tells since when a Node has not been Ready. A Node that says
// nothing about it is taken to be Ready.
func notReadySince(node *corev1.Node) (time.Time, bool) {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
