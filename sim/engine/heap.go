package engine

// queue holds pending events ordered by time and then by order of insertion: a
// 4-ary heap whose entries know their place, so that any event can be cancelled
// in O(log n). Entries carry no pointers (the collector does not scan them); what
// an event does is kept aside in slots, which are reused.
type queue struct {
	heap  []entry
	slots []slot
	free  uint32 // head of the list of free slots, plus 1; 0 if none
	seq   uint64
}

type entry struct {
	at   int64
	seq  uint64
	slot uint32
}

func (a *entry) less(b *entry) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

type slot struct {
	fn  func(any)
	arg any
	pos uint32 // index in the heap; in a free slot: the next free one, plus 1
	gen uint32 // counts uses, so that a stale Timer does nothing
}

// push adds an event and returns its slot.
func (q *queue) push(at int64, fn func(any), arg any) uint32 {
	var s uint32
	if q.free != 0 {
		s = q.free - 1
		q.free = q.slots[s].pos
	} else {
		s = uint32(len(q.slots))
		q.slots = append(q.slots, slot{})
	}
	sl := &q.slots[s]
	sl.fn, sl.arg = fn, arg
	q.seq++
	q.heap = append(q.heap, entry{})
	q.up(len(q.heap)-1, entry{at, q.seq, s})
	return s
}

// pop removes the earliest event. The queue must not be empty.
func (q *queue) pop() (e entry, fn func(any), arg any) {
	e = q.heap[0]
	sl := &q.slots[e.slot]
	fn, arg = sl.fn, sl.arg
	q.release(e.slot)
	last := len(q.heap) - 1
	x := q.heap[last]
	q.heap = q.heap[:last]
	if last > 0 {
		q.down(0, x)
	}
	return e, fn, arg
}

// cancel removes the event in slot s if it is still the one of generation gen.
func (q *queue) cancel(s, gen uint32) bool {
	if int(s) >= len(q.slots) || q.slots[s].gen != gen || q.slots[s].fn == nil {
		return false
	}
	i := int(q.slots[s].pos)
	q.release(s)
	last := len(q.heap) - 1
	x := q.heap[last]
	q.heap = q.heap[:last]
	if i == last {
		return true
	}
	if i > 0 && x.less(&q.heap[(i-1)>>2]) {
		q.up(i, x)
	} else {
		q.down(i, x)
	}
	return true
}

func (q *queue) release(s uint32) {
	sl := &q.slots[s]
	sl.fn, sl.arg = nil, nil
	sl.gen++
	sl.pos = q.free
	q.free = s + 1
}

// up places x at i or nearer to the root.
func (q *queue) up(i int, x entry) {
	h := q.heap
	for i > 0 {
		p := (i - 1) >> 2
		if !x.less(&h[p]) {
			break
		}
		h[i] = h[p]
		q.slots[h[i].slot].pos = uint32(i)
		i = p
	}
	h[i] = x
	q.slots[x.slot].pos = uint32(i)
}

// down places x at i or farther from the root.
func (q *queue) down(i int, x entry) {
	h := q.heap
	n := len(h)
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		m := c
		for j := c + 1; j < min(c+4, n); j++ {
			if h[j].less(&h[m]) {
				m = j
			}
		}
		if !h[m].less(&x) {
			break
		}
		h[i] = h[m]
		q.slots[h[i].slot].pos = uint32(i)
		i = m
	}
	h[i] = x
	q.slots[x.slot].pos = uint32(i)
}
