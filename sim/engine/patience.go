package engine

import "time"

// vigilsPerPatience is how often the engine looks for stuck tasks: often enough to
// notice when waits are excused, and seldom enough to cost nothing.
const vigilsPerPatience = 8

func (e *Engine) vigilAfter() int64 {
	return e.now + max(1, int64(e.cfg.Patience)/vigilsPerPatience)
}

// vigil ends the run if tasks wait for each other, or have waited for longer than
// Config.Patience. In a cluster the queue of events never runs dry, so that
// checkIdle has no say there. There is one at the end of each run as well.
func (e *Engine) vigil() {
	e.nextVigil = e.vigilAfter()
	if was := e.excuse; e.cfg.Excused != nil {
		e.excuse = e.cfg.Excused()
		if was || e.excuse { // it may have ended only now
			e.excused = e.now
		}
	}
	var stuck []StuckTask
	for _, p := range e.processList {
		if !p.Alive() || p.paused {
			continue
		}
		for t := p.inc.first; t != nil; t = t.succ {
			if e.overdue(t) {
				stuck = append(stuck, StuckTask{t.ID(), t.op, time.Duration(t.since)})
			}
		}
	}
	if len(stuck) > 0 {
		e.fail(&DeadlockError{At: time.Duration(e.now), Busy: true, Tasks: stuck})
	}
}

// overdue reports whether t waits in vain: in a circle of tasks that wait for each
// other's end or lock, or for too long for something that need not end by itself.
// Who waits for another task has the excuses of that one.
func (e *Engine) overdue(t *Task) bool {
	since := e.excused
	for n := 0; t.state == taskParked; n++ {
		since = max(since, t.since)
		switch {
		case n > e.live:
			return true
		case t.joining != nil:
			t = t.joining
		case t.lock != nil:
			t = t.lock.owner
		case t.wait == nil || t.op.Idle || t.ctx != nil && t.ctx.expiry != never:
			return false
		default:
			return e.now-since >= int64(e.cfg.Patience)
		}
	}
	return false
}
