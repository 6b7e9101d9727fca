package gossip

import "time"

// suspicion is the time a suspect has to refute. It starts at the longest and
// shrinks towards the shortest as independent accusers confirm; k of them are
// wanted.
type suspicion struct {
	n        *Node
	about    NodeID
	k        int
	accusers []NodeID // the first one and those who confirmed
	start    time.Duration
	timer    Timer

	shortest, longest time.Duration
}

// startSuspicion starts the timer. With k = 0 nobody's confirmation is wanted
// and the time is the shortest from the start.
func (n *Node) startSuspicion(about, by NodeID) *suspicion {
	s := &suspicion{n: n, about: about, accusers: []NodeID{by}, start: n.now()}
	known := len(n.order)
	// Two intervals short of the multiplier; and two nodes cannot confirm: this
	// one and the suspect.
	if s.k = n.cfg.SuspicionMult - 2; known-2 < s.k {
		s.k = 0
	}
	s.shortest = suspicionTimeout(n.cfg.SuspicionMult, known, n.cfg.ProbeInterval)
	s.longest = time.Duration(n.cfg.SuspicionMaxTimeoutMult) * s.shortest
	timeout := s.longest
	if s.k < 1 {
		timeout = s.shortest
	}
	s.timer = n.after(timeout, onSuspicion, s)
	return s
}

// confirm counts a further accuser and reports whether that was news: the first
// k, each once.
func (s *suspicion) confirm(by NodeID) bool {
	if confirmed := len(s.accusers) - 1; confirmed >= s.k {
		return false
	}
	for _, a := range s.accusers {
		if a == by {
			return false
		}
	}
	s.accusers = append(s.accusers, by)
	total := suspicionAfter(len(s.accusers)-1, s.k, s.shortest, s.longest)
	if s.timer.Cancel() {
		s.timer = s.n.after(max(0, total-(s.n.now()-s.start)), onSuspicion, s)
	}
	return true
}

// clearSuspicion ends a suspicion without a verdict.
func (p *peer) clearSuspicion() {
	if p.susp != nil {
		p.susp.timer.Cancel()
		p.susp = nil
	}
}

func onSuspicion(a any) {
	s := a.(*suspicion)
	n := s.n
	if n.dormant(onSuspicion, a) {
		return
	}
	if p := n.peer(s.about); p.susp == s {
		n.dead(&Msg{Kind: MsgDead, Node: s.about, Inc: p.inc, From: n.id}, LeftTimeout)
	}
}
