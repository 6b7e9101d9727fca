package workqueue

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Options of one queue. The zero value is controller-runtime's default.
type Options struct {
	Base, Max time.Duration // per-request back-off; zero means DefaultBase, DefaultMax
}

// Queue holds requests until a worker takes them.
type Queue struct {
	eng     *engine.Engine
	base    time.Duration
	max     time.Duration
	onReady func()

	items   items
	ready   []*Item // heap by (priority, seq)
	free    *Item
	spare   int // items on the free list
	seq     uint64
	waiting int
	closed  bool
}

// Item is a request inside the queue, handed out by Get. There may be very many,
// so it is kept small.
type Item struct {
	Request reconcile.Request

	queue    *Queue
	next     *Item // free list
	timer    engine.Timer
	readyAt  time.Duration
	seq      uint64
	priority int32
	failures int32
	state    state
	locked   bool // handed out and not yet Done
}

type state uint8

const (
	absent  state = iota // not queued (it may be locked, or have failures)
	waiting              // has a timer
	ready                // in the heap
	blocked              // ready, but locked: goes to the heap on Done
)

// New returns an empty queue. onReady is called each time a request becomes
// ready; it must not call back into the queue.
func New(eng *engine.Engine, o Options, onReady func()) *Queue {
	if o.Base <= 0 {
		o.Base = DefaultBase
	}
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	return &Queue{
		eng: eng, base: o.Base, max: o.Max,
		onReady: onReady,
	}
}

// Add makes req ready now.
func (q *Queue) Add(req reconcile.Request, priority int) { q.add(q.item(req), 0, int32(priority)) }

// AddAfter makes req ready after d.
func (q *Queue) AddAfter(req reconcile.Request, d time.Duration, priority int) {
	q.add(q.item(req), d, int32(priority))
}

// Retry adds the request of it again after one more failure, and returns the
// delay.
func (q *Queue) Retry(it *Item) time.Duration {
	d := exponential(q.base, q.max, int(it.failures))
	it.failures++
	q.add(it, d, it.priority)
	return d
}

// Again adds the request of it after d, keeping its priority.
func (q *Queue) Again(it *Item, d time.Duration) { q.add(it, d, it.priority) }

// Forget clears the failures of it.
func (q *Queue) Forget(it *Item) { it.failures = 0 }

// stop cancels the timer of it, if it waits.
func (it *Item) stop() {
	if it.state == waiting {
		it.timer.Cancel()
	}
}

// Failures is the number of failures of it since the last Forget.
func (it *Item) Failures() int { return int(it.failures) }

// Len is the number of requests that are ready and not locked.
func (q *Queue) Len() int { return len(q.ready) }

// Waiting is the number of requests that wait for their time.
func (q *Queue) Waiting() int { return q.waiting }

// Get hands out the next ready request, or nil. Each item handed out must come
// back through Done.
func (q *Queue) Get() *Item {
	if len(q.ready) == 0 {
		return nil
	}
	it := q.popReady()
	it.state = absent
	it.locked = true
	return it
}

// Done ends the work on it; if its request was added meanwhile it is ready now.
func (q *Queue) Done(it *Item) {
	it.locked = false
	switch {
	case it.state == blocked:
		q.pushReady(it)
	case it.state == absent && it.failures == 0:
		q.release(it)
	}
}

// Shutdown drops everything and refuses later adds.
func (q *Queue) Shutdown() {
	q.closed = true
	q.items.stop()
	q.ready, q.free, q.spare, q.waiting = nil, nil, 0, 0
}

// item finds or makes the item of req.
func (q *Queue) item(req reconcile.Request) *Item {
	if it := q.items.get(req); it != nil {
		return it
	}
	it := q.free
	if it != nil {
		q.free = it.next
		q.spare--
		*it = Item{}
	} else {
		it = new(Item)
	}
	it.queue, it.Request = q, req
	if !q.closed {
		q.items.put(it)
	}
	return it
}

// spareItems is how many items a queue keeps for later. A first list brings
// many requests at once, and never again.
const spareItems = 1

func (q *Queue) release(it *Item) {
	if q.items.remove(it) {
		q.ready = nil
	}
	if q.spare < spareItems {
		it.next = q.free
		q.free = it
		q.spare++
	}
}

func (q *Queue) add(it *Item, d time.Duration, priority int32) {
	if q.closed {
		return
	}
	now := q.eng.Elapsed()
	switch it.state {
	case absent:
		it.priority = priority
		it.seq = q.nextSeq()
		if d > 0 {
			q.wait(it, now+d, d)
		} else {
			q.becomeReady(it)
		}
	case waiting:
		q.raise(it, priority)
		switch {
		case d <= 0:
			it.timer.Cancel()
			q.waiting--
			q.becomeReady(it)
		case now+d < it.readyAt:
			it.timer.Cancel()
			q.waiting--
			q.wait(it, now+d, d)
		}
	case ready:
		if q.raise(it, priority) {
			q.fixReady(it)
		}
	case blocked:
		q.raise(it, priority)
	}
}

// raise lifts the priority of a queued item; it then counts as newly added.
func (q *Queue) raise(it *Item, priority int32) bool {
	if priority <= it.priority {
		return false
	}
	it.priority = priority
	it.seq = q.nextSeq()
	return true
}

func (q *Queue) wait(it *Item, at, d time.Duration) {
	it.state = waiting
	it.readyAt = at
	it.timer = q.eng.After(d, due, it)
	q.waiting++
}

// due runs when a waiting item's time has come.
func due(arg any) {
	it := arg.(*Item)
	q := it.queue
	if q.closed || it.state != waiting {
		return
	}
	q.waiting--
	it.seq = q.nextSeq() // sorted by when it became ready
	q.becomeReady(it)
}

func (q *Queue) becomeReady(it *Item) {
	if it.locked {
		it.state = blocked
		return
	}
	q.pushReady(it)
}

func (q *Queue) nextSeq() uint64 { q.seq++; return q.seq }
