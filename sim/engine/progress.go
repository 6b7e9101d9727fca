package engine

// livelock describes a run that exceeded a limit of steps.
func (e *Engine) livelock(steps uint64, instant bool) error {
	l := &LivelockError{Steps: steps, Instant: instant, At: e.Elapsed()}
	var busiest *Task
	for _, p := range e.processList {
		if !p.Alive() {
			continue
		}
		for t := p.inc.first; t != nil; t = t.succ {
			if t.burst > 0 && t.instant == e.now && (busiest == nil || t.burst > busiest.burst) {
				busiest = t
			}
		}
	}
	if busiest != nil {
		l.Task, l.Op, l.Burst = busiest.ID(), busiest.op, busiest.burst
	}
	return l
}

// checkIdle looks, when nothing can happen any more, for tasks that wait in vain.
func (e *Engine) checkIdle() {
	if e.cfg.Idle == IdleAllowed {
		return
	}
	var stuck []StuckTask
	for _, p := range e.processList {
		if !p.Alive() {
			continue
		}
		if p.paused {
			return // a paused process may do anything yet
		}
		for t := p.inc.first; t != nil; t = t.succ {
			if e.cfg.Idle == IdleStrict || t.stuck() {
				stuck = append(stuck, StuckTask{t.ID(), t.op})
			}
		}
	}
	if len(stuck) > 0 {
		e.fail(&DeadlockError{At: e.Elapsed(), Tasks: stuck})
	}
}

// stuck reports whether t waits for something other than work. A task in Join
// waits for whatever the other task waits for; a circle of joins is stuck.
func (t *Task) stuck() bool {
	slow := t
	for t.joining != nil {
		t = t.joining
		if t == slow {
			return true
		}
		if t.joining == nil {
			break
		}
		t = t.joining
		slow = slow.joining
		if t == slow {
			return true
		}
	}
	return !t.op.Idle
}
