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

// take removes and returns the i-th task; it moves the shorter side.
func (q *readyQueue) take(i int) *Task {
	t := q.at(i)
	if i < q.n/2 || i == 0 {
		for ; i > 0; i-- {
			*q.place(i) = q.at(i - 1)
		}
		q.pop()
		return t
	}
	for ; i < q.n-1; i++ {
		*q.place(i) = q.at(i + 1)
	}
	*q.place(q.n - 1) = nil
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
