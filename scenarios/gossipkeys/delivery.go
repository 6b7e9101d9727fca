package gossipkeys

import (
	"errors"
	"fmt"
	"time"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
	"github.com/seedbed-sim/seedbed/core/kube"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// source is the agent's KeySource with an observer in it, and a lag behind it
// if the scenario wants one: a node that is slow to take a new list.
type source struct {
	state *State
	node  *node
	env   *cluster.Env
	inner gossipkeys.KeySource
	lag   *engine.Stream
	last  time.Duration // when the latest list takes effect
}

// Watch implements gossipkeys.KeySource.
func (s *source) Watch(onKeys func(gossipkeys.Keys)) kube.Controller {
	busy := false
	return s.inner.Watch(func(keys gossipkeys.Keys) {
		if busy {
			s.state.breaks("deliveries-are-changes", errors.New("a key list is delivered during the delivery of another"))
		}
		busy = true
		s.judge(keys)
		s.pass(keys, onKeys)
		busy = false
	})
}

// judge compares a delivery with the Secret's history and the one before.
func (s *source) judge(keys gossipkeys.Keys) {
	st, n := s.state, s.node
	st.count.deliveries++
	names := st.ledger.namesOf(keys)
	switch {
	case len(keys) == 0:
		st.breaks("deliveries-are-changes", fmt.Errorf("%s is delivered an empty list", n.name))
	case n.delivered != nil && n.delivered.Equal(keys):
		st.breaks("deliveries-are-changes", fmt.Errorf("%s is delivered %v twice in a row", n.name, names))
	case !st.history.stored(keys):
		st.breaks("lists-are-read-whole", fmt.Errorf("%s is delivered %v, which the Secret never held as its whole list", n.name, names))
	case n.delivered == nil && !st.history.since(n.started, keys):
		st.breaks("starts-on-current-keys", fmt.Errorf("%s started at %v and is delivered %v, which was no longer the list then", n.name, n.started, names))
	}
	n.delivered, n.lists = keys, append(n.lists, keys)
	s.env.Event("keys", n.name, uint64(len(keys)), fmt.Sprintf("learns the keys %v", names))
	s.env.Touch()
}

// pass hands the list on, at once or after the lag; never before an older one.
func (s *source) pass(keys gossipkeys.Keys, onKeys func(gossipkeys.Keys)) {
	span := s.state.config.ApplyLag
	if span == nil {
		onKeys(keys)
		return
	}
	now := s.state.world.Engine().Elapsed()
	at := max(s.last, now+s.lag.Duration(engine.Dist{Min: span.Min, Max: span.Max}))
	s.last = at
	s.env.Sim().After(at-now, func(any) { onKeys(keys) }, nil)
}
