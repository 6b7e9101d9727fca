package workqueue

// The ready requests form a binary heap. It is nearly always of length zero or
// one, so clarity wins over a better arity.

func before(a, b *Item) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	return a.seq < b.seq
}

func (q *Queue) pushReady(it *Item) {
	it.state = ready
	q.ready = append(q.ready, it)
	q.up(len(q.ready) - 1)
	q.onReady()
}

func (q *Queue) popReady() *Item {
	h := q.ready
	top := h[0]
	last := len(h) - 1
	h[0], h[last] = h[last], nil
	q.ready = h[:last]
	q.down(0)
	return top
}

// fixReady restores the order after the priority of it was raised.
func (q *Queue) fixReady(it *Item) {
	for i, x := range q.ready {
		if x == it {
			q.up(i)
			q.down(i)
			return
		}
	}
}

func (q *Queue) up(i int) {
	h := q.ready
	for i > 0 {
		p := (i - 1) / 2
		if !before(h[i], h[p]) {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

func (q *Queue) down(i int) {
	h := q.ready
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && before(h[c+1], h[c]) {
			c++
		}
		if !before(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
