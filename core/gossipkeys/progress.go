package gossipkeys

import (
	"fmt"
	"strings"
	"time"
)

// Phase says what the Rotator is about.
type Phase string

const (
	// PhaseIdle: no rotation was ever started on this Secret.
	PhaseIdle Phase = "idle"
	// PhaseForward: on the way to the new key.
	PhaseForward Phase = "forward"
	// PhaseBack: on the way back to the old keys.
	PhaseBack Phase = "back"
	// PhaseFinished: the new key is the only one.
	PhaseFinished Phase = "finished"
	// PhaseAborted: the old keys are the only ones.
	PhaseAborted Phase = "aborted"
	// PhaseEdited: someone else has changed the list since the last step.
	PhaseEdited Phase = "edited"
)

// Progress is where a rotation stands. It is for people and for programs that
// wait; it holds fingerprints only.
type Progress struct {
	Phase   Phase
	Step    Step   // of the list in the Secret; StepOld when there is no rotation
	New     string // fingerprint of the new key; empty when there is no rotation
	Version Version
	Keys    []string // fingerprints of the list in the Secret

	// Nodes holds all nodes, by name.
	Nodes []NodeProgress

	// Converged says that every node that counts reports the list, and that
	// there is at least one.
	Converged bool

	// Recheck is when time alone may change the picture, because a node that
	// is not Ready will no longer be waited for; zero if it will not.
	Recheck time.Duration
}

func newProgress(s *state, g gate) Progress {
	p := Progress{
		Phase:     PhaseIdle,
		Version:   s.version,
		Keys:      s.keys.Fingerprints(),
		Nodes:     g.nodes,
		Converged: g.pass(),
		Recheck:   g.recheck,
	}
	if s.edited {
		p.Phase = PhaseEdited
	}
	if r := s.rotation; r != nil {
		p.Step, p.New = r.Step, r.New
		switch {
		case r.Step == StepDropped:
			p.Phase = PhaseFinished
		case r.Step == StepOld:
			p.Phase = PhaseAborted
		case r.Back:
			p.Phase = PhaseBack
		default:
			p.Phase = PhaseForward
		}
	}
	return p
}

// Done reports whether the rotation has come to either end, on every node.
func (p Progress) Done() bool {
	return p.Converged && (p.Phase == PhaseFinished || p.Phase == PhaseAborted)
}

// Waiting names the nodes waited for.
func (p Progress) Waiting() []string { return gate{nodes: p.Nodes}.waiting() }

// String gives the picture in a few lines:
//
//	rotation forward to key 9f86d081, at step added (generation 1: 5feceb66 9f86d081)
//	2 of 3 nodes current, waiting for:
//	  node-b  behind  generation 0: 5feceb66, since 2030-01-01T00:00:00Z
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rotation %s", p.Phase)
	if p.New != "" {
		fmt.Fprintf(&b, " to key %s, at step %s", p.New, p.Step)
	}
	fmt.Fprintf(&b, " (generation %d: %s)\n", p.Version.Generation, strings.Join(p.Keys, " "))
	g := gate{nodes: p.Nodes}
	fmt.Fprintf(&b, "%d of %d nodes current", g.count(NodeCurrent), len(p.Nodes))
	if len(p.Waiting()) > 0 {
		b.WriteString(", waiting for:")
	}
	b.WriteString("\n")
	for _, n := range p.Nodes {
		if n.State == NodeCurrent {
			continue
		}
		fmt.Fprintf(&b, "  %s  %s", n.Name, n.State)
		if len(n.Report.Keys) > 0 {
			fmt.Fprintf(&b, "  generation %d: %s, since %s", n.Report.Generation,
				strings.Join(n.Report.Keys, " "), n.Report.Time.UTC().Format(time.RFC3339))
			if n.Report.UID != p.Version.UID {
				b.WriteString(", of another Secret")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
