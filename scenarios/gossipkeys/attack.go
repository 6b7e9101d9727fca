package gossipkeys

import (
	"fmt"

	"github.com/seedbed-sim/seedbed/fakes/gossip"
	"github.com/seedbed-sim/seedbed/scenarios"
)

// The attacker is somebody on the network without any key.
const (
	attacker     = "attacker"
	attackerAddr = "10.66.6.6:10351"
)

// capture is a packet that the attacker has seen pass and kept.
type capture struct {
	packet *gossip.Envelope
	from   string
}

const capturesKept = 4096

// capture keeps encrypted packets, the oldest ones, as somebody would who waits
// for a chance to use them.
func (s *State) capture(e *gossip.Envelope) {
	if !s.listening || e.Stream || e.Key == gossip.Plain || len(s.captured) >= capturesKept {
		return
	}
	s.captured = append(s.captured, capture{e, s.env.cluster.AddrName(e.From)})
}

// InjectArgs says which lie the attacker tells.
type InjectArgs struct {
	Victim scenarios.NodeName `yaml:"victim" form:"required,short" doc:"The node that is said to be dead."`
}

// NoArgs is for steps that need nothing more.
type NoArgs struct{}

func attacks() []scenarios.StepKind {
	return []scenarios.StepKind{
		scenarios.NewStep("inject", "An attacker without a key tells every node, in plain text, that a node is dead.",
			"gossipkeys.inject: node-2", inject),
		scenarios.NewStep("capture", "An attacker begins to record encrypted packets.", "gossipkeys.capture:", startCapture),
		scenarios.NewStep("replay", "The attacker sends all recorded packets again.", "gossipkeys.replay:", replay),
	}
}

func inject(st *scenarios.Story, s *State, args InjectArgs) error {
	victim := st.Node(args.Victim)
	st.Tell(victim, "an attacker tells every node in plain text that %s is dead", victim)
	id := s.env.cluster.ID(victim)
	for _, n := range s.nodes {
		if n.name == victim {
			continue
		}
		lie := gossip.Msg{Kind: gossip.MsgDead, Node: id, From: s.env.cluster.ID(s.accuser(n, victim)), Inc: s.incarnation(victim)}
		packet := s.env.cluster.Forge(attackerAddr, n.addr.String(), "", nil, lie)
		if err := s.env.Send(packet); err != nil {
			return fmt.Errorf("inject into %s: %w", n.name, err)
		}
	}
	return nil
}

// accuser is the node that the lie pretends to come from: neither its victim,
// who would then have left, nor the one that is told.
func (s *State) accuser(told *node, victim string) string {
	for _, n := range s.nodes {
		if n != told && n.name != victim {
			return n.name
		}
	}
	return told.name
}

func (s *State) incarnation(name string) uint32 {
	if n := s.byName[name].instance(); n != nil {
		return n.Incarnation()
	}
	return 1
}

func startCapture(st *scenarios.Story, s *State, _ NoArgs) error {
	st.Tell(attacker, "an attacker begins to record encrypted packets")
	s.listening = true
	return nil
}

func replay(st *scenarios.Story, s *State, _ NoArgs) error {
	st.Tell(attacker, "the attacker sends %d recorded packets again", len(s.captured))
	s.listening = false
	if len(s.captured) == 0 {
		return fmt.Errorf("nothing was recorded; a capture step must come first")
	}
	before := s.count.decryptFailures
	for _, c := range s.captured {
		s.env.cluster.Deliver(c.packet)
	}
	s.replayed += len(s.captured)
	s.replaysRefused += s.count.decryptFailures - before
	return nil
}
