package workqueue

import (
	"cmp"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// items finds the items of a queue by their request. Most queues hold one or two
// at a time: looking through a few is cheaper than hashing two strings.
type items struct {
	few  []*Item // in no order that means anything
	many map[reconcile.Request]*Item
	peak int // most items since the last one left
}

// few is how many items are looked through, and how many a queue may have held
// and keep its memory.
const few = 8

func (s *items) get(req reconcile.Request) *Item {
	for _, it := range s.few {
		if it.Request == req {
			return it
		}
	}
	return s.many[req]
}

func (s *items) len() int { return len(s.few) + len(s.many) }

func (s *items) put(it *Item) {
	switch {
	case s.many != nil:
		s.many[it.Request] = it
	case len(s.few) < few:
		s.few = append(s.few, it)
	default:
		s.many = make(map[reconcile.Request]*Item, 2*few)
		for _, x := range s.few {
			s.many[x.Request] = x
		}
		s.many[it.Request] = it
		s.few = nil
	}
	s.peak = max(s.peak, s.len())
}

// remove takes it out, and reports whether it was the last of so many that the
// queue's memory should go.
func (s *items) remove(it *Item) (shrink bool) {
	if s.many != nil {
		delete(s.many, it.Request)
	} else if i := slices.Index(s.few, it); i >= 0 {
		s.few = slices.Delete(s.few, i, i+1)
	}
	if s.len() > 0 || s.peak <= few {
		return false
	}
	*s = items{}
	return true
}

// stop cancels the timers of all items that wait, and forgets them all.
func (s *items) stop() {
	for _, it := range s.few {
		it.stop()
	}
	for _, it := range slices.SortedFunc(maps.Values(s.many), bySeq) {
		it.stop()
	}
	*s = items{}
}

func bySeq(a, b *Item) int { return cmp.Compare(a.seq, b.seq) }
