package conformance

import (
	"strconv"
	"strings"
	"time"
)

// flipEarly: node 4 encrypts with a key nobody else has yet.
func flipEarly(s *stage) measures {
	s.form(5, settings{keys: [][]byte{key(1)}})
	s.apply(4, key(2), key(1))
	var health string
	s.at(20*time.Second, func() { health = s.scores() })
	s.play(120 * time.Second)
	r := s.close()
	return measures{
		flags: map[string]bool{
			"healthy accused": s.firstLeave(&r, func(c change) bool { return c.node != 4 && c.peer != 4 }) != never,
			"failures":        r.failures > 0,
		},
		times: map[string]time.Duration{
			"first leave": s.firstLeave(&r, func(c change) bool { return c.peer == 4 }),
			"dead to all": s.goneEverywhere(&r, s.nodes[:4], 4),
			"alone":       s.alone(&r, 4),
		},
		lists: map[string]string{"health at 20 s": health, "end": r.lists(s.zero+120*time.Second, s.nodes)},
	}
}

// scores are the health scores of all nodes.
func (s *stage) scores() string {
	words := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		words[i] = strconv.Itoa(s.health(n))
	}
	return strings.Join(words, " ")
}

// alone is when a node listed nobody but itself for the first time.
func (s *stage) alone(r *record, node int) time.Duration {
	v := r.views(s.zero)[node]
	for _, c := range r.changes {
		if c.node != node || c.at <= s.zero {
			continue
		}
		v[c.peer] = !c.leave
		count := 0
		for _, listed := range v {
			if listed {
				count++
			}
		}
		if count == 1 {
			return c.at - s.zero
		}
	}
	return never
}

// dropEarly: node 4 forgets a key that others still encrypt with, and has the one
// that all can read. Some of the others have flipped to that one already: from
// them it hears that it is dead to the rest, and contradicts.
func dropEarly(flipped int) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, settings{keys: [][]byte{key(1), key(2)}})
		for _, n := range s.nodes[:flipped] {
			s.apply(n, key(2), key(1))
		}
		s.apply(4, key(2))
		end := 120 * time.Second
		s.play(end)
		r := s.close()
		deaths := 0
		for _, c := range r.leaves(s.zero, s.zero+end) {
			if c.node == 3 && c.peer == 4 {
				deaths++
			}
		}
		return measures{
			flags: map[string]bool{
				"flaps":           deaths >= 3,
				"healthy accused": s.firstLeave(&r, func(c change) bool { return c.node != 4 && c.peer != 4 }) != never,
				"failures":        r.failures > 0,
			},
			times: map[string]time.Duration{
				"first leave": s.firstLeave(&r, func(c change) bool { return c.peer == 4 }),
				"4's deaths":  time.Duration(deaths) * time.Second, // a count, on the scale of seconds
			},
		}
	}
}

// flipBeforeAdd: four nodes flip to a key that the fifth does not have; they
// still read what it says.
func flipBeforeAdd(s *stage) measures {
	s.form(5, settings{keys: [][]byte{key(1)}})
	for _, n := range s.nodes[:4] {
		s.apply(n, key(2), key(1))
	}
	s.play(120 * time.Second)
	r := s.close()
	return measures{
		flags: map[string]bool{
			"healthy accused": s.firstLeave(&r, func(c change) bool { return c.node != 4 && c.peer != 4 }) != never,
			"failures":        r.failures > 0,
		},
		times: map[string]time.Duration{
			"first leave": s.firstLeave(&r, anybody),
			"laggard out": s.goneEverywhere(&r, s.nodes[:4], 4),
			"alone":       s.alone(&r, 4),
		},
	}
}

// restartInto restarts a node with other settings: good-bye, a short absence, and
// a join of everybody.
func (s *stage) restartInto(t time.Duration, node int, set settings) time.Duration {
	s.at(t, func() { s.leave(node) })
	s.at(t+4*time.Second, func() {
		s.start(node, set)
		s.rejoin(node)
	})
	return t + 12*time.Second
}

// rollout turns encryption on in three rounds of restarts.
func rollout(s *stage) measures {
	s.form(5, settings{})
	k := [][]byte{key(1)}
	t := time.Duration(0)
	restarting := make(map[int]bool)
	for _, set := range []settings{{keys: k, clearIn: true, clearOut: true}, {keys: k, clearIn: true}, {keys: k}} {
		for _, n := range s.nodes {
			t = s.restartInto(t, n, set)
		}
	}
	s.play(t + 60*time.Second)
	r := s.close()
	for _, c := range r.leaves(s.zero, s.zero+t) {
		// A leave is the restarting node's own if it falls into its absence.
		slot := int((c.at - s.zero) / (12 * time.Second))
		if c.peer != slot%5 {
			restarting[c.peer] = true
		}
	}
	return measures{
		flags: map[string]bool{"foreign leave": len(restarting) > 0, "failures": r.failures > 0},
		lists: map[string]string{"end": r.lists(s.zero+t+60*time.Second, s.nodes)},
	}
}

// rolloutSkip restarts three of five nodes from one setting into another, and
// looks at the mixture.
func rolloutSkip(from, into settings) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, from)
		t := time.Duration(0)
		for _, n := range []int{2, 3, 4} {
			t = s.restartInto(t, n, into)
		}
		// The halves rejoin, as agents do, to no avail.
		s.at(t+30*time.Second, func() {
			for _, n := range s.nodes {
				s.rejoin(n)
			}
		})
		s.play(t + 120*time.Second)
		r := s.close()
		return measures{
			flags: map[string]bool{"failures": r.failures > 0},
			lists: map[string]string{"end": r.lists(s.zero+t+120*time.Second, s.nodes)},
		}
	}
}

// rolloutLive adds the key to empty rings, node by node, without restarts.
func rolloutLive(s *stage) measures {
	s.form(5, settings{ring: true, clearIn: true})
	for i, n := range s.nodes {
		s.at(time.Duration(i)*20*time.Second, func() {
			_ = s.ring(n).AddKey(key(1)) // a valid key cannot fail
			s.rejoin(n)
		})
	}
	s.play(200 * time.Second)
	r := s.close()
	return measures{
		flags: map[string]bool{"any leave": s.firstLeave(&r, anybody) != never, "failures": r.failures > 0},
		times: map[string]time.Duration{
			"first leave": s.firstLeave(&r, anybody),
			"healed":      r.healed(s.zero+80*time.Second, s.zero+200*time.Second, s.nodes),
		},
	}
}

// oneSided restarts one node of an encrypting cluster with outgoing encryption
// off.
func oneSided(s *stage) measures {
	k := [][]byte{key(1)}
	s.form(5, settings{keys: k})
	t := s.restartInto(0, 4, settings{keys: k, clearOut: true})
	s.play(t + 90*time.Second)
	r := s.close()
	return measures{
		flags: map[string]bool{"failures": r.failures > 0},
		lists: map[string]string{"end": r.lists(s.zero+t+90*time.Second, s.nodes)},
	}
}
