package gossip

import (
	"math"
	"time"
)

// suspicion is the time a suspect has to refute. It starts at max and shrinks
// towards min as independent accusers confirm; k of them are wanted.
type suspicion struct {
	n        *Node
	about    NodeID
	k        int
	accusers []NodeID // the first one and those who confirmed
	min, max time.Duration
	start    time.Duration
	timer    Timer
}

// startSuspicion starts the timer. With k = 0 nobody's confirmation is wanted
// and the time is min from the start.
func (n *Node) startSuspicion(about, by NodeID) *suspicion {
	s := &suspicion{n: n, about: about, accusers: []NodeID{by}, start: n.now()}
	known := len(n.order)
	// Two intervals short of the multiplier; and two nodes cannot confirm: this
	// one and the suspect.
	if s.k = n.cfg.SuspicionMult - 2; known-2 < s.k {
		s.k = 0
	}
	s.min = suspicionTimeout(n.cfg.SuspicionMult, known, n.cfg.ProbeInterval)
	s.max = time.Duration(n.cfg.SuspicionMaxTimeoutMult) * s.min
	timeout := s.max
	if s.k < 1 {
		timeout = s.min
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
	total := suspicionAfter(len(s.accusers)-1, s.k, s.min, s.max)
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

// suspicionTimeout is mult * max(1, log10(n)) intervals, the scale cut to
// thousandths.
func suspicionTimeout(mult, n int, interval time.Duration) time.Duration {
	scale := math.Max(1, math.Log10(math.Max(1, float64(n))))
	return time.Duration(mult) * time.Duration(scale*1000) * interval / 1000
}

// suspicionAfter is the whole time, counted from the start, once c of the k
// wanted confirmations are in: from max down to min on a logarithmic scale, in
// whole milliseconds.
func suspicionAfter(c, k int, min, max time.Duration) time.Duration {
	frac := math.Log(float64(c)+1) / math.Log(float64(k)+1)
	// The conversion keeps the compiler from fusing multiplication and
	// subtraction, so that all architectures agree on the millisecond.
	seconds := max.Seconds() - float64(frac*(max.Seconds()-min.Seconds()))
	if d := time.Duration(math.Floor(1000*seconds)) * time.Millisecond; d > min {
		return d
	}
	return min
}
