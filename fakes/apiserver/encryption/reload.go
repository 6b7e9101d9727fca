package encryption

import (
	"fmt"
	"slices"
	"time"
)

// Times of automatic reload.
const (
	pollEvery   = time.Minute            // the file
	healthEvery = 100 * time.Millisecond // plugins, before their configuration is taken
	healthFor   = 10 * time.Second       // at least

	retryBase = 5 * time.Millisecond
	retryMax  = 1000 * time.Second
)

// reload is the worker that loads the file anew. It does one thing at a time; what comes
// while it is busy is done once after that.
type reload struct {
	busy     bool
	again    bool
	failures int           // ever: nobody forgets them
	retry    time.Time     // when it tries again; zero if nothing is scheduled
	next     *Transformers // whose plugins are not known to be well
	old      []*Transformers
}

// close ends everything that the worker holds.
func (r *reload) close() {
	if r.next != nil {
		r.next.Close()
	}
	for _, t := range r.old {
		t.Close()
	}
}

// poll looks at the file now and each minute.
func (l *Loader) poll() {
	if l.closed {
		return
	}
	l.work()
	l.opts.Timers.After(pollEvery, l.poll)
}

// work looks at the file, or notes that somebody should.
func (l *Loader) work() {
	if l.closed {
		return
	}
	if l.reload.busy {
		l.reload.again = true
		return
	}
	l.reload.busy = true
	next, err := l.load()
	switch {
	case err != nil:
		l.failed("", err)
	case next == nil:
		l.done()
	default:
		l.reload.next = next
		l.After(next.Took(), func() { l.wait(l.opts.Timers.Now()) })
	}
}

// load returns the transformers of the file, or nil if it has not changed.
func (l *Loader) load() (*Transformers, error) {
	data, err := read(l.opts.File)
	if err != nil {
		return nil, err
	}
	if HashOf(data) == l.info.Hash {
		return nil, nil
	}
	c, err := ParseConfiguration(data, true)
	if err != nil {
		return nil, fmt.Errorf("error while parsing file: %w", err)
	}
	t, err := Build(c, l.opts.Surroundings)
	if err != nil {
		return nil, fmt.Errorf("error while building transformers: %w", err)
	}
	return t, nil
}

// wait takes the next transformers as soon as all of their plugins are well, and gives
// them up when that takes too long.
func (l *Loader) wait(since time.Time) {
	next := l.reload.next
	took, err := next.Check()
	if err == nil {
		l.After(took, l.swap)
		return
	}
	limit := max(healthFor, next.grace())
	l.After(max(took, healthEvery), func() {
		if l.opts.Timers.Now().Sub(since) < limit {
			l.wait(since)
			return
		}
		l.reload.next = nil
		hash := next.Hash()
		next.Close()
		l.failed(hash, fmt.Errorf("health check for new transformers failed, polling error timed out waiting for the condition: %w", err))
	})
}

// swap puts the next transformers in force, and closes the old ones when nobody can be
// using them any more.
func (l *Loader) swap() {
	old, next := l.current, l.reload.next
	now := l.opts.Timers.Now()
	l.current, l.reload.next = next, nil
	l.info.Hash, l.info.Since, l.info.LastSuccess, l.info.Err = next.Hash(), now, now, nil
	l.info.Succeeded++
	l.reload.old = append(l.reload.old, old)
	l.After(old.grace(), func() {
		old.Close()
		l.reload.old = slices.DeleteFunc(l.reload.old, func(t *Transformers) bool { return t == old })
	})
	if l.opts.Event != nil {
		l.opts.Event(next.Hash(), nil)
	}
	l.done()
}

// failed keeps what is in force, and tries again after a pause that grows with each
// failure.
func (l *Loader) failed(hash string, err error) {
	l.info.Failed++
	l.info.LastFailure, l.info.Err = l.opts.Timers.Now(), err
	pause := retryMax
	if l.reload.failures < 18 { // 5 ms doubled 18 times is more than the maximum
		pause = min(retryMax, retryBase<<l.reload.failures)
	}
	l.reload.failures++
	l.retryAt(l.info.LastFailure.Add(pause))
	if l.opts.Event != nil {
		l.opts.Event(hash, err)
	}
	l.done()
}

// retryAt schedules another attempt, unless there is an earlier one.
func (l *Loader) retryAt(at time.Time) {
	if was := l.reload.retry; !was.IsZero() && !was.After(at) {
		return
	}
	l.reload.retry = at
	l.After(at.Sub(l.opts.Timers.Now()), func() {
		if l.reload.retry.Equal(at) {
			l.reload.retry = time.Time{}
			l.work()
		}
	})
}

// done ends one piece of work.
func (l *Loader) done() {
	l.reload.busy = false
	if l.reload.again {
		l.reload.again = false
		l.work()
	}
}
