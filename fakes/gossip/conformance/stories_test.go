package conformance

import (
	"fmt"
	"time"
)

// scripts is all of them.
func scripts() []script {
	var all []script
	for _, lan := range []bool{false, true} {
		name := map[bool]string{false: "local", true: "lan"}[lan]
		all = append(all,
			script{"form/" + name, "a join seen only by gossip may be missed until a push/pull", formCluster(lan)},
			script{"crash/" + name, "gone everywhere after suspicion", crashOne(lan)},
			script{"safe/" + name, "0 leave events, 0 decrypt failures", safeRotation(lan)},
		)
		for _, lag := range []int{1, 3, 6, 20, 60} {
			for _, rejoin := range []bool{false, true} {
				full := fmt.Sprintf("swap/%s/%ds", name, lag)
				if rejoin {
					full += "/rejoin"
				}
				all = append(all, script{full, swapSpec[full], hardSwap(lan, time.Duration(lag)*time.Second, rejoin)})
			}
		}
	}
	return append(all,
		script{"leave", "left, at once", leaveOne},
		script{"flip-early", "dead for all at +4..5 s; alone after 20-35 s", flipEarly},
		script{"drop-early", "hears nothing but is heard; dead at +4..5 s", dropEarly(0)},
		script{"drop-early/mixed", "flaps every few seconds", dropEarly(1)},
		script{"flip-before-add", "the laggard's accusations are readable", flipBeforeAdd},
		script{"rollout", "no leaves but the restarted node's own, 0 failures", rollout},
		script{"rollout/skip-2", "clean split", rolloutSkip(settings{keys: [][]byte{key(1)}, clearIn: true, clearOut: true}, settings{keys: [][]byte{key(1)}})},
		script{"rollout/skip-1", "clean split", rolloutSkip(settings{}, settings{keys: [][]byte{key(1)}, clearIn: true})},
		script{"rollout/live", "splits until all have the key", rolloutLive},
		script{"one-sided", "isolates itself, its joins fail", oneSided},
		script{"partition", "permanent without rejoin", partitionFlip(1, false)},
		script{"partition/rejoin", "heals: the sides are adjacent", partitionFlip(1, true)},
		script{"partition/2-apart", "does not heal: two generations apart", partitionFlip(2, true)},
		script{"restart/quick", "refutes with old+1 after the join", restart(2 * time.Second)},
		script{"restart/late", "comes back as a new member", restart(30 * time.Second)},
		script{"crash/15", "suspicion and retransmission scale with n", crashOf15},
		script{"mute", "hears all, is heard by none", mute},
		script{"pair-cut", "indirect probes bridge one broken pair", pairCut},
		script{"lossy", "suspicions come and go; the dead one still dies", lossy},
		script{"plain-error", "failure detection is off", failingSends(false)},
		script{"op-error", "straight to the indirect probe", failingSends(true)},
	)
}

// swapSpec is the table of section 9.2: leave runs of 30, healing.
var swapSpec = map[string]string{
	"swap/local/1s": "1/30, at once", "swap/local/1s/rejoin": "1/30, at once",
	"swap/local/3s": "13/30, median 0, p90 14 s", "swap/local/3s/rejoin": "13/30, p90 4 s",
	"swap/local/6s": "30/30, median 6 s, max 17 s", "swap/local/6s/rejoin": "30/30, median 7 s, max 26 s",
	"swap/local/20s": "30/30, 24/30 still split", "swap/local/20s/rejoin": "30/30, max 40 s",
	"swap/local/60s": "30/30, 30/30 split", "swap/local/60s/rejoin": "30/30, at once",
	"swap/lan/1s": "0/30, at once", "swap/lan/1s/rejoin": "0/30, at once",
	"swap/lan/3s": "1/30, at once", "swap/lan/3s/rejoin": "1/30, at once",
	"swap/lan/6s": "26/30, max 29 s", "swap/lan/6s/rejoin": "26/30, max 28 s",
	"swap/lan/20s": "30/30, max 30 s", "swap/lan/20s/rejoin": "30/30, max 24 s",
	"swap/lan/60s": "30/30, 30/30 split", "swap/lan/60s/rejoin": "30/30, max 8 s",
}

// formCluster joins everybody to node 0 only.
func formCluster(lan bool) func(*stage) measures {
	return func(s *stage) measures {
		set := settings{lan: lan, keys: [][]byte{key(1)}}
		for i := range 5 {
			s.sleep(s.rng.upTo(time.Second))
			s.start(i, set)
			s.nodes = append(s.nodes, i)
			if i > 0 {
				s.join(i, 0)
			}
		}
		s.zero = s.now()
		s.play(90 * time.Second)
		r := s.close()
		return measures{
			flags: map[string]bool{"any leave": len(r.leaves(0, s.zero+90*time.Second)) > 0, "failures": r.failures > 0},
			times: map[string]time.Duration{"complete": r.healed(s.zero, s.zero+90*time.Second, s.nodes)},
		}
	}
}

// crashOne kills node 4 of 5.
func crashOne(lan bool) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, settings{lan: lan, keys: [][]byte{key(1)}})
		s.crash(4)
		s.play(90 * time.Second)
		r := s.close()
		return measures{
			flags: map[string]bool{
				"healthy accused": s.firstLeave(&r, func(c change) bool { return c.peer != 4 }) != never,
			},
			times: map[string]time.Duration{
				"first leave":     s.firstLeave(&r, anybody),
				"gone everywhere": s.goneEverywhere(&r, s.nodes[:4], 4),
			},
			lists: map[string]string{"end": r.lists(s.zero+90*time.Second, s.nodes[:4])},
		}
	}
}

// crashOf15 kills one of fifteen: enough nodes for sampled peers, a longer
// suspicion and more retransmissions.
func crashOf15(s *stage) measures {
	s.form(15, settings{keys: [][]byte{key(1)}})
	s.crash(14)
	s.play(60 * time.Second)
	r := s.close()
	return measures{
		flags: map[string]bool{
			"healthy accused": s.firstLeave(&r, func(c change) bool { return c.peer != 14 }) != never,
		},
		times: map[string]time.Duration{
			"first leave":     s.firstLeave(&r, anybody),
			"gone everywhere": s.goneEverywhere(&r, s.nodes[:14], 14),
		},
	}
}

// lossy loses a third of all packets, and node 4 after half a minute.
func lossy(s *stage) measures {
	s.form(5, settings{keys: [][]byte{key(1)}})
	s.lose(33)
	var health string
	s.at(30*time.Second, func() {
		health = s.scores()
		s.crash(4)
	})
	s.play(90 * time.Second)
	r := s.close()
	gone := s.goneEverywhere(&r, s.nodes[:4], 4)
	return measures{
		flags: map[string]bool{
			"healthy accused": s.firstLeave(&r, func(c change) bool { return c.peer != 4 }) != never,
		},
		times: map[string]time.Duration{"gone everywhere": gone},
		lists: map[string]string{
			"health at 30 s": health,
			"end":            r.lists(s.zero+90*time.Second, s.nodes[:4]),
		},
	}
}

// mute cuts everything that node 4 sends, for good.
func mute(s *stage) measures {
	s.form(5, settings{keys: [][]byte{key(1)}})
	for _, n := range s.others(4) {
		s.cut(4, n)
	}
	var health string
	s.at(20*time.Second, func() { health = s.scores() })
	s.play(120 * time.Second)
	r := s.close()
	return measures{
		times: map[string]time.Duration{
			"first leave": s.firstLeave(&r, func(c change) bool { return c.peer == 4 }),
			"dead to all": s.goneEverywhere(&r, s.nodes[:4], 4),
			"alone":       s.alone(&r, 4),
		},
		lists: map[string]string{"health at 20 s": health, "end": r.lists(s.zero+120*time.Second, s.nodes)},
	}
}

// pairCut breaks the link between two of five nodes, in both directions.
func pairCut(s *stage) measures {
	s.form(5, settings{keys: [][]byte{key(1)}})
	s.cut(0, 1)
	s.cut(1, 0)
	s.play(120 * time.Second)
	r := s.close()
	return measures{
		flags: map[string]bool{"any leave": s.firstLeave(&r, anybody) != never},
		lists: map[string]string{"end": r.lists(s.zero+120*time.Second, s.nodes)},
	}
}

// safeRotation walks all nodes through add, flip, drop, one node every 20 s.
func safeRotation(lan bool) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, settings{lan: lan, keys: [][]byte{key(1)}})
		steps := [][][]byte{{key(1), key(2)}, {key(2), key(1)}, {key(2)}}
		t := time.Duration(0)
		for _, list := range steps {
			for i := range 5 {
				node := (i + s.rng.intn(5)) % 5 // some twice, some later: every mix inside a step
				s.at(t, func() { s.apply(node, list...) })
				t += 15 * time.Second
			}
			s.at(t, func() {
				for _, n := range s.nodes {
					s.apply(n, list...)
				}
			})
			t += 10 * time.Second
		}
		s.play(t)
		r := s.close()
		return measures{flags: map[string]bool{
			"any leave": len(r.leaves(s.zero, s.zero+t)) > 0, "failures": r.failures > 0,
		}}
	}
}

// hardSwap swaps four nodes at once and the fifth after the lag.
func hardSwap(lan bool, lag time.Duration, rejoin bool) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, settings{lan: lan, keys: [][]byte{key(1)}})
		end := lag + 180*time.Second
		for _, n := range s.nodes {
			t := time.Duration(0)
			if n == 4 {
				t = lag
			}
			s.at(t, func() {
				s.hardSwap(n, key(2))
				if rejoin {
					s.rejoin(n)
				}
			})
		}
		if rejoin {
			s.rejoining(end)
		}
		s.play(end)
		r := s.close()
		first := s.firstLeave(&r, anybody)
		return measures{
			flags: map[string]bool{"any leave": first != never},
			times: map[string]time.Duration{
				"first leave": first,
				"healed":      r.healed(s.zero+lag, s.zero+end, s.nodes),
			},
		}
	}
}

// leaveOne says good-bye.
func leaveOne(s *stage) measures {
	s.form(5, settings{keys: [][]byte{key(1)}})
	s.leave(4)
	s.play(60 * time.Second)
	r := s.close()
	return measures{
		times: map[string]time.Duration{
			"first leave":     s.firstLeave(&r, anybody),
			"gone everywhere": s.goneEverywhere(&r, s.nodes[:4], 4),
		},
		lists: map[string]string{"end": r.lists(s.zero+60*time.Second, s.nodes[:4])},
	}
}

// partitionFlip separates two and three nodes for a minute, while the larger side
// moves on by the given number of generations; then the network heals.
func partitionFlip(generations int, rejoin bool) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, settings{keys: [][]byte{key(1), key(2)}})
		s.partition(s.nodes[:2])
		lists := [][][]byte{{key(2), key(1)}, {key(2)}}
		for g := range generations {
			for _, n := range s.nodes[2:] {
				s.at(time.Duration(20*(g+1))*time.Second+s.rng.upTo(5*time.Second), func() { s.apply(n, lists[g]...) })
			}
		}
		s.at(60*time.Second, func() { s.partition(nil) })
		if rejoin {
			for _, n := range s.nodes {
				for t := 60*time.Second + s.rng.upTo(time.Minute); t < 240*time.Second; t += time.Minute {
					s.at(t, func() { s.rejoin(n) })
				}
			}
		}
		s.play(240 * time.Second)
		r := s.close()
		return measures{
			times: map[string]time.Duration{
				"first leave": s.firstLeave(&r, anybody),
				"healed":      r.healed(s.zero+60*time.Second, s.zero+240*time.Second, s.nodes),
			},
			flags: map[string]bool{"failures": r.failures > 0},
		}
	}
}

// restart kills node 4, and starts it anew, with incarnation 1, after a while.
func restart(after time.Duration) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, settings{keys: [][]byte{key(1)}})
		s.crash(4)
		s.at(after, func() {
			s.start(4, s.set)
			s.rejoin(4)
		})
		s.play(after + 60*time.Second)
		r := s.close()
		return measures{
			flags: map[string]bool{"any leave": s.firstLeave(&r, anybody) != never},
			times: map[string]time.Duration{"healed": r.healed(s.zero+after, s.zero+after+60*time.Second, s.nodes)},
		}
	}
}

// failingSends kills node 4 under a transport that reports it: as the other
// side's fault, or as a local one.
func failingSends(blame bool) func(*stage) measures {
	return func(s *stage) measures {
		s.form(5, settings{keys: [][]byte{key(1)}})
		s.failSends(blame)
		s.crash(4)
		s.play(60 * time.Second)
		r := s.close()
		return measures{
			flags: map[string]bool{"any leave": s.firstLeave(&r, anybody) != never},
			times: map[string]time.Duration{"first leave": s.firstLeave(&r, anybody)},
			lists: map[string]string{"end": r.lists(s.zero+60*time.Second, s.nodes[:4])},
		}
	}
}
