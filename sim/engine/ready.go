package engine

// readyQueue is a ring of the tasks that can run, in the order in which they became
// ready. Most of the time it holds one or two.
type readyQueue struct {
	buf  []*Task // its length is a power of two
	head int
	n    int
}

// at returns the i-th task.
func (q *readyQueue) at(i int) *Task { return *q.place(i) }

func (q *readyQueue) place(i int) **Task { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

func (q *readyQueue) push(t *Task) {
	if q.n == len(q.buf) {
		q.grow()
	}
	*q.place(q.n) = t
	q.n++
}

func (q *readyQueue) grow() {
	buf := make([]*Task, max(8, 2*len(q.buf)))
	for i := range q.n {
		buf[i] = q.at(i)
	}
	q.buf, q.head = buf, 0
}

// pop removes and returns the first task.
func (q *readyQueue) pop() *Task {
	p := &q.buf[q.head]
	t := *p
	*p = nil
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
	return t
}

// take removes and returns the i-th task; it moves the shorter side, in stretches that
// do not go round the end of the ring.
func (q *readyQueue) take(i int) *Task {
	t := q.at(i)
	end := len(q.buf) - 1
	if i < q.n/2 || i == 0 {
		for i > 0 {
			to := (q.head + i) & end
			if to == 0 {
				q.buf[0] = q.buf[end]
				i--
				continue
			}
			n := min(i, to)
			copy(q.buf[to-n+1:to+1], q.buf[to-n:to])
			i -= n
		}
		q.pop()
		return t
	}
	for i < q.n-1 {
		to := (q.head + i) & end
		if to == end {
			q.buf[end] = q.buf[0]
			i++
			continue
		}
		n := min(q.n-1-i, end-to)
		copy(q.buf[to:to+n], q.buf[to+1:to+1+n])
		i += n
	}
	*q.place(i) = nil
	q.n--
	return t
}

// drop removes every task for which unwanted reports true.
func (q *readyQueue) drop(unwanted func(*Task) bool) {
	kept := 0
	for i := range q.n {
		if t := q.at(i); !unwanted(t) {
			*q.place(kept) = t
			kept++
		}
	}
	for i := kept; i < q.n; i++ {
		*q.place(i) = nil
	}
	q.n = kept
}
