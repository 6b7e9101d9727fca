package engine

import "time"

// censusSteps is for how many steps before a limit the steps of tasks are counted,
// so that the message can name the busiest.
const censusSteps = 1000

// moveTo lets virtual time pass until at, which starts a new instant.
func (e *Engine) moveTo(at int64) {
	e.now = at
	e.counting = false
	e.stepLimit = e.steps + e.cfg.StepsPerInstant
	if e.cfg.MaxSteps > 0 {
		e.stepLimit = min(e.stepLimit, e.cfg.MaxSteps)
	}
	e.nextLook = e.stepLimit - min(e.stepLimit, censusSteps)
	if at >= e.nextVigil {
		e.vigil()
	}
}

// look is called when nextLook steps have been taken. It starts the census or ends
// the run.
func (e *Engine) look() {
	if !e.counting {
		e.counting = true
		e.nextLook = e.stepLimit
		if e.census == nil {
			e.census = map[*Task]uint64{}
		}
		clear(e.census)
	}
	if e.steps >= e.stepLimit {
		e.fail(e.livelock())
	}
}

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
			if n := e.census[t]; n > e.census[busiest] {
				busiest = t
			}
		}
	}
	if busiest != nil {
		l.Task, l.Op, l.Burst = busiest.ID(), busiest.op, e.census[busiest]
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
				stuck = append(stuck, StuckTask{t.ID(), t.op, time.Duration(t.since)})
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
