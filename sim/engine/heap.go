package engine

// queue holds pending events ordered by time and then by order of insertion: a
// 4-ary heap whose entries know their place, so that any event can be cancelled
// in O(log n). Entries carry no pointers (the collector does not scan them); what
// an event does is kept aside in slots, which are reused.
type queue struct {
	heap  []entry
	pos   []uint32 // by slot: index in the heap; if free: the next free slot, plus 1
	slots []slot
	free  uint32 // head of the list of free slots, plus 1; 0 if none
	seq   uint64
}

// entry is 16 bytes, so that four children fill one cache line. key is the
// number of the event above slotBits bits of its slot.
type entry struct {
	at  int64
	key uint64
}

const (
	slotBits = 24 // 16 million events pending at once
	seqLimit = 1 << (64 - slotBits)
)

func (a entry) less(b entry) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.key < b.key
}

func (a entry) slot() uint32 { return uint32(a.key & (1<<slotBits - 1)) }
func (a entry) seq() uint64  { return a.key >> slotBits }

type slot struct {
	fn  func(any)
	arg any
	gen uint32 // counts uses, so that a stale Timer does nothing
}

// push adds an event and returns its slot.
func (q *queue) push(at int64, fn func(any), arg any) uint32 {
	s := q.alloc()
	sl := &q.slots[s]
	sl.fn, sl.arg = fn, arg
	q.seq++
	i := len(q.heap)
	q.heap = append(q.heap, entry{})
	q.up(i, entry{at, q.seq<<slotBits | uint64(s)})
	return s
}

// alloc takes a free slot or makes one.
func (q *queue) alloc() uint32 {
	if q.free != 0 {
		s := q.free - 1
		q.free = q.pos[s]
		return s
	}
	if len(q.slots) >= 1<<slotBits || q.seq >= seqLimit-1 {
		panic("engine: too many events: 2^24 pending or 2^40 in one run")
	}
	q.slots = append(q.slots, slot{})
	q.pos = append(q.pos, 0)
	return uint32(len(q.slots) - 1)
}

// pop removes the earliest event. The queue must not be empty.
func (q *queue) pop() (e entry, fn func(any), arg any) {
	e = q.heap[0]
	s := e.slot()
	fn, arg = q.slots[s].fn, q.slots[s].arg
	q.release(s)
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
	if q.slots[s].gen != gen {
		return false
	}
	i := int(q.pos[s])
	q.release(s)
	last := len(q.heap) - 1
	x := q.heap[last]
	q.heap = q.heap[:last]
	if i == last {
		return true
	}
	if i > 0 && x.less(q.heap[(i-1)>>2]) {
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
	q.pos[s] = q.free
	q.free = s + 1
}

// up places x at i or nearer to the root.
func (q *queue) up(i int, x entry) {
	h, pos := q.heap, q.pos
	for i > 0 {
		p := (i - 1) >> 2
		if !x.less(h[p]) {
			break
		}
		h[i] = h[p]
		pos[h[i].slot()] = uint32(i)
		i = p
	}
	h[i] = x
	pos[x.slot()] = uint32(i)
}

// down places x at i or farther from the root.
func (q *queue) down(i int, x entry) {
	h, pos := q.heap, q.pos
	n := len(h)
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		m, least := c, h[c]
		for j := c + 1; j < min(c+4, n); j++ {
			if h[j].less(least) {
				m, least = j, h[j]
			}
		}
		if !least.less(x) {
			break
		}
		h[i] = least
		pos[least.slot()] = uint32(i)
		i = m
	}
	h[i] = x
	pos[x.slot()] = uint32(i)
}
