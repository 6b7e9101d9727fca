package engine

// readyQueue holds the tasks that can run, in the order in which they became
// ready. Most of the time it has one or two entries.
type readyQueue struct {
	buf  []*Task
	head int
}

func (q *readyQueue) len() int         { return len(q.buf) - q.head }
func (q *readyQueue) at(i int) *Task   { return q.buf[q.head+i] }
func (q *readyQueue) tasks() []*Task   { return q.buf[q.head:] }
func (q *readyQueue) set(live []*Task) { q.buf, q.head = live, 0 }

func (q *readyQueue) push(t *Task) {
	if q.head > 0 && len(q.buf) == cap(q.buf) {
		n := copy(q.buf, q.buf[q.head:])
		clear(q.buf[n:])
		q.buf, q.head = q.buf[:n], 0
	}
	q.buf = append(q.buf, t)
}

// take removes and returns entry i; it moves the shorter side.
func (q *readyQueue) take(i int) *Task {
	b := q.buf[q.head:]
	t := b[i]
	if i < len(b)/2 || len(b) == 1 {
		copy(b[1:i+1], b[:i])
		b[0] = nil
		q.head++
		if q.head == len(q.buf) {
			q.buf, q.head = q.buf[:0], 0
		}
		return t
	}
	copy(b[i:], b[i+1:])
	b[len(b)-1] = nil
	q.buf = q.buf[:len(q.buf)-1]
	return t
}

// drop removes every task for which dead reports true.
func (q *readyQueue) drop(dead func(*Task) bool) {
	live := q.buf[:0]
	for _, t := range q.buf[q.head:] {
		if !dead(t) {
			live = append(live, t)
		}
	}
	clear(q.buf[len(live):])
	q.set(live)
}
