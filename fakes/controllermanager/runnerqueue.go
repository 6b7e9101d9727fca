package controllermanager

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// runningLoop is the queue of one loop of a [Runner], and its only worker.
type runningLoop struct {
	runner *Runner
	loop   *Loop
	order  []*item // waiting, in the order in which they were added
	byName map[reconcile.Request]*item
}

// item is a request that waits.
type item struct {
	reconcile.Request
	at       time.Time
	seq      uint64
	failures int
	err      error // of the latest attempt
}

func newRunningLoop(r *Runner, l *Loop) *runningLoop {
	return &runningLoop{runner: r, loop: l, byName: map[reconcile.Request]*item{}}
}

// Add implements Queue.
func (q *runningLoop) Add(req reconcile.Request) { q.put(&item{Request: req, at: q.now()}) }

// AddAfter implements Queue.
func (q *runningLoop) AddAfter(req reconcile.Request, d time.Duration) {
	q.put(&item{Request: req, at: q.now().Add(d)})
}

func (q *runningLoop) now() time.Time { return q.runner.manager.opts.Clock.Now() }

// put adds an item. One that waits already keeps the earlier time.
func (q *runningLoop) put(it *item) {
	if old := q.byName[it.Request]; old != nil {
		if it.at.Before(old.at) {
			old.at = it.at
		}
		return
	}
	q.runner.seq++
	it.seq = q.runner.seq
	q.byName[it.Request] = it
	q.order = append(q.order, it)
}

const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = 1000 * time.Second
	atOnce       = time.Second // what Settle does not wait for
)

// work takes an item out and works on it.
func (q *runningLoop) work(ctx context.Context, it *item) {
	q.order = slices.DeleteFunc(q.order, func(x *item) bool { return x == it })
	delete(q.byName, it.Request)
	res, err := q.loop.Reconcile(ctx, it.Request)
	switch {
	case err != nil:
		d := q.backoff(it.failures)
		if d < atOnce {
			d = 0
		}
		q.put(&item{Request: it.Request, at: q.now().Add(d), failures: it.failures + 1, err: err})
	case res.RequeueAfter > 0:
		q.AddAfter(it.Request, res.RequeueAfter)
	}
}

func (q *runningLoop) backoff(failures int) time.Duration {
	first, last := q.loop.Backoff.Base, q.loop.Backoff.Max
	if first <= 0 {
		first, last = firstBackoff, lastBackoff
	}
	return min(first<<min(failures, 20), last)
}
