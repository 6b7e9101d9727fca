package engine

// livelock describes a run that has reached a limit of steps.
func (e *Engine) livelock() error {
	l := &LivelockError{Steps: e.cfg.StepsPerInstant, Instant: true, At: e.Elapsed()}
	if e.cfg.MaxSteps > 0 && e.steps >= e.cfg.MaxSteps {
		l.Steps, l.Instant = e.cfg.MaxSteps, false
	}
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
	for n := 0; t.joining != nil; n++ {
		if n > t.e.live {
			return true
		}
		t = t.joining
	}
	return !t.op.Idle
}
