package gossip

import "slices"

// ownAddress is the queue key of a node's refutations; all other broadcasts are
// filed under the node they are about.
const ownAddress NodeID = -2

// queued is a broadcast waiting to be piggybacked or gossiped.
type queued struct {
	msg   Msg
	key   NodeID
	sent  int    // how often so far
	size  int    // encoded, in bytes
	birth uint64 // larger is newer
	done  func() // called when it is sent for the last time, or replaced
}

// queue holds broadcasts in the order in which they are sent: the least often
// sent first, then the largest, then the newest.
type queue struct {
	items []queued
	born  uint64
}

// order compares two broadcasts for the queue.
func (a *queued) order(b *queued) int {
	switch {
	case a.sent != b.sent:
		return a.sent - b.sent
	case a.size != b.size:
		return b.size - a.size
	case a.birth > b.birth:
		return -1
	}
	return 1
}

func (q *queue) insert(it queued) {
	at, _ := slices.BinarySearchFunc(q.items, it, func(a, b queued) int { return a.order(&b) })
	q.items = slices.Insert(q.items, at, it)
}

// broadcast queues m, replacing what is queued under the same key.
func (n *Node) broadcast(m Msg, key NodeID, done func()) {
	q := &n.queue
	for i := range q.items {
		if q.items[i].key == key {
			old := q.items[i].done
			q.items = slices.Delete(q.items, i, i+1)
			if old != nil {
				old()
			}
			break
		}
	}
	q.born++
	q.insert(queued{msg: m, key: key, size: n.c.Size(&m), birth: q.born, done: done})
	n.wakeGossip()
}

// take returns the broadcasts that fit into limit bytes and counts them as sent
// once more. Those sent often enough leave the queue.
func (n *Node) take(limit int) []Msg {
	q := &n.queue
	if len(q.items) == 0 {
		return nil
	}
	out := make([]Msg, 0, len(q.items))
	most := retransmitLimit(n.cfg.RetransmitMult, len(n.order))
	used, kept := 0, 0
	var again []queued
	var done []func()
	for i := range q.items {
		it := q.items[i]
		free := limit - used - sizePerMessage
		if free <= 0 || it.size > free {
			q.items[kept] = it
			kept++
			continue
		}
		used += sizePerMessage + it.size
		out = append(out, it.msg)
		if it.sent++; it.sent < most {
			again = append(again, it)
		} else if it.done != nil {
			done = append(done, it.done)
		}
	}
	q.items = q.items[:kept]
	for _, it := range again {
		q.insert(it)
	}
	for _, fn := range done {
		fn()
	}
	return out
}
