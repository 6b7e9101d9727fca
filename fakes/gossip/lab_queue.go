package gossip

import "time"

// labQueue is a virtual clock with its pending calls: a 4-ary heap of slots that
// know their place in it, so that a timer can be cancelled.
type labQueue struct {
	now   time.Duration
	heap  []int32 // slot numbers
	slots []labSlot
	free  []int32
	seq   uint64
}

type labSlot struct {
	at   time.Duration
	node NodeID
	seq  uint64
	fn   func(any)
	arg  any
	pos  int32 // in heap; -1 if free
	gen  uint32
}

// labTimer names a slot for as long as it holds the same call.
type labTimer struct {
	q    *labQueue
	slot int32
	gen  uint32
}

// Cancel implements [Timer].
func (t labTimer) Cancel() bool {
	s := &t.q.slots[t.slot]
	if s.gen != t.gen || s.pos < 0 {
		return false
	}
	t.q.remove(s.pos)
	return true
}

func (q *labQueue) push(at time.Duration, node NodeID, fn func(any), arg any) labTimer {
	var id int32
	if last := len(q.free) - 1; last >= 0 {
		id = q.free[last]
		q.free = q.free[:last]
	} else {
		id = int32(len(q.slots))
		q.slots = append(q.slots, labSlot{})
	}
	q.seq++
	s := &q.slots[id]
	s.at, s.node, s.seq, s.fn, s.arg = at, node, q.seq, fn, arg
	q.heap = append(q.heap, id)
	q.up(int32(len(q.heap) - 1))
	return labTimer{q, id, s.gen}
}

// step makes the earliest call if it is due by end, and reports whether it did.
func (q *labQueue) step(end time.Duration) bool {
	if len(q.heap) == 0 {
		return false
	}
	s := &q.slots[q.heap[0]]
	if s.at > end {
		return false
	}
	q.now = s.at
	fn, arg := s.fn, s.arg
	q.remove(0)
	fn(arg)
	return true
}

func (q *labQueue) remove(pos int32) {
	id := q.heap[pos]
	last := int32(len(q.heap) - 1)
	moved := q.heap[last]
	q.heap = q.heap[:last]
	if pos != last {
		q.heap[pos] = moved
		q.slots[moved].pos = pos
		q.down(pos)
		q.up(q.slots[moved].pos)
	}
	s := &q.slots[id]
	s.fn, s.arg, s.pos = nil, nil, -1
	s.gen++
	q.free = append(q.free, id)
}

func (q *labQueue) before(a, b int32) bool {
	x, y := &q.slots[a], &q.slots[b]
	switch {
	case x.at != y.at:
		return x.at < y.at
	case x.node != y.node:
		return x.node < y.node
	}
	return x.seq < y.seq
}

func (q *labQueue) up(pos int32) {
	id := q.heap[pos]
	for pos > 0 {
		parent := (pos - 1) / 4
		if !q.before(id, q.heap[parent]) {
			break
		}
		q.heap[pos] = q.heap[parent]
		q.slots[q.heap[pos]].pos = pos
		pos = parent
	}
	q.heap[pos] = id
	q.slots[id].pos = pos
}

func (q *labQueue) down(pos int32) {
	id := q.heap[pos]
	for {
		best := id
		at := pos
		for child := 4*pos + 1; child <= 4*pos+4 && int(child) < len(q.heap); child++ {
			if q.before(q.heap[child], best) {
				best, at = q.heap[child], child
			}
		}
		if at == pos {
			break
		}
		q.heap[pos] = best
		q.slots[best].pos = pos
		pos = at
	}
	q.heap[pos] = id
	q.slots[id].pos = pos
}
