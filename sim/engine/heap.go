package engine

import "unsafe"

// queue holds pending events ordered by time and then by order of insertion: a
// 4-ary heap whose entries know their place, so that any event can be cancelled
// in O(log n). Entries carry no pointers (the collector does not scan them); what
// an event does is kept aside in slots, which are reused.
//
// The root of the heap is at index 3, so that four siblings of 16 bytes each lie
// in one cache line: the children of i are at 4i-8 to 4i-5, its parent at i/4+2.
type queue struct {
	heap  []entry
	slots []slot
	where []uint64 // by slot: how often it was used, above the 32-bit place of its event
	free  uint32   // first free slot, plus 1; 0 if none. The place of a free slot is the next
	seq   uint64
}

// entry orders an event. key is the number of the event above its slot.
type entry struct {
	at  int64
	key uint64
}

// slot says what an event does.
type slot struct {
	fn  func(any)
	arg any
}

const (
	root     = 3
	slotBits = 24 // 16 million events pending at once
	slotMask = 1<<slotBits - 1
	seqLimit = 1 << (64 - slotBits)
	place    = 1<<32 - 1
)

func (a *entry) less(b *entry) bool {
	return a.at < b.at || a.at == b.at && a.key < b.key
}

func (a *entry) seq() uint64 { return a.key >> slotBits }

// pending returns the number of events.
func (q *queue) pending() int { return max(len(q.heap)-root, 0) }

// next returns the time of the earliest event, or never.
func (q *queue) next() int64 {
	if len(q.heap) <= root {
		return never
	}
	return q.heap[root].at
}

// push adds an event and returns its slot and the slot's generation.
func (q *queue) push(at int64, fn func(any), arg any) (s, gen uint32) {
	s = q.alloc()
	q.slots[s] = slot{fn, arg}
	q.seq++
	q.heap = append(q.heap, entry{})
	q.up(len(q.heap)-1, entry{at, q.seq<<slotBits | uint64(s)})
	return s, uint32(q.where[s] >> 32)
}

// alloc takes a free slot or makes one.
func (q *queue) alloc() uint32 {
	if q.seq >= seqLimit-1 {
		panic("engine: more than 2^40 events in one run")
	}
	if q.free != 0 {
		s := q.free - 1
		q.free = uint32(q.where[s])
		return s
	}
	switch len(q.slots) {
	case 0:
		q.heap = make([]entry, root, 64)
	case slotMask:
		panic("engine: more than 2^24 events pending")
	}
	q.slots = append(q.slots, slot{})
	q.where = append(q.where, 0)
	return uint32(len(q.slots) - 1)
}

// pop removes the earliest event. The queue must not be empty.
func (q *queue) pop() (e entry, fn func(any), arg any) {
	e = q.heap[root]
	s := uint32(e.key & slotMask)
	sl := &q.slots[s]
	// With many events pending the slot is far from the cache: fetch it while the
	// heap is put in order. It makes a pop an eighth cheaper at 100,000.
	prefetch(unsafe.Pointer(sl))
	q.remove(root)
	fn, arg = sl.fn, sl.arg
	q.release(s)
	return e, fn, arg
}

// cancel removes the event in slot s if it is still the one of generation gen.
func (q *queue) cancel(s, gen uint32) bool {
	w := q.where[s]
	if uint32(w>>32) != gen {
		return false
	}
	q.remove(int(w & place))
	q.release(s)
	return true
}

// release makes a slot free for the next event.
func (q *queue) release(s uint32) {
	q.slots[s] = slot{}
	q.where[s] = (q.where[s]>>32+1)<<32 | uint64(q.free)
	q.free = s + 1
}

// remove takes the event at index i out of the heap.
func (q *queue) remove(i int) {
	last := len(q.heap) - 1
	x := q.heap[last]
	q.heap = q.heap[:last]
	switch {
	case i == last:
	case i > root && x.less(&q.heap[i>>2+2]):
		q.up(i, x)
	default:
		q.down(i, x)
	}
}

// up places x at i or nearer to the root.
func (q *queue) up(i int, x entry) {
	h, where := q.heap, q.where
	for i > root {
		parent := i>>2 + 2
		if !x.less(&h[parent]) {
			break
		}
		h[i] = h[parent]
		setPlace(&where[h[i].key&slotMask], i)
		i = parent
	}
	h[i] = x
	setPlace(&where[x.key&slotMask], i)
}

// down places x at i or farther from the root.
func (q *queue) down(i int, x entry) {
	h, where := q.heap, q.where
	for {
		c := 4*i - 8
		if c+4 <= len(h) {
			// Compare in pairs: the processor does two at the same time.
			g := h[c : c+4 : c+4]
			a, b := 0, 2
			if g[1].less(&g[0]) {
				a = 1
			}
			if g[3].less(&g[2]) {
				b = 3
			}
			if g[b].less(&g[a]) {
				a = b
			}
			c += a
		} else if c < len(h) {
			c += least(h[c:])
		} else {
			break
		}
		if !h[c].less(&x) {
			break
		}
		h[i] = h[c]
		setPlace(&where[h[i].key&slotMask], i)
		i = c
	}
	h[i] = x
	setPlace(&where[x.key&slotMask], i)
}

func setPlace(w *uint64, i int) { *w = *w&^place | uint64(i) }

// least returns the index of the smallest entry.
func least(h []entry) int {
	m := 0
	for j := range h {
		if h[j].less(&h[m]) {
			m = j
		}
	}
	return m
}
