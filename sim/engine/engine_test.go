package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSleepersWakeInOrder(t *testing.T) {
	w := newWorld(t)
	p := w.process("p", func(p *Process, ctx context.Context) {
		var tasks []*Task
		for _, d := range []time.Duration{3 * second, 1 * second, 2 * second} {
			tasks = append(tasks, p.Go(ctx, "sleeper", func(ctx context.Context) {
				w.say("slept %v: %v, wall clock %s", d, p.Sleep(ctx, d), p.Now().Format(time.TimeOnly))
			}))
		}
		for _, task := range tasks {
			task.Join()
			task.Join() // of a task that has ended
		}
		w.say("joined")
	})
	w.mustRun()
	want := []string{"1s slept 1s: <nil>, wall clock 00:00:01", "2s slept 2s: <nil>, wall clock 00:00:02",
		"3s slept 3s: <nil>, wall clock 00:00:03", "3s joined"}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
	if p.Alive() || p.Name() != "p" || p.Engine() != w.Engine || p.Incarnation() != 1 {
		t.Errorf("alive %v, name %s, incarnation %d", p.Alive(), p.Name(), p.Incarnation())
	}
}

// The answer comes in time, late, before anybody has waited, twice, or never.
func TestAwait(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		within := func(d time.Duration, start func(*Wait)) error {
			c, cancel := p.WithTimeout(ctx, d)
			defer cancel()
			return p.Await(c, opGet, start)
		}
		w.say("in time: %v", within(2*second, w.answerAfter(second)))
		w.say("late: %v", within(second, w.answerAfter(2*second)))
		w.say("at once: %v", within(second, func(wait *Wait) { wait.Done() }))
		w.say("twice: %v", within(second, func(wait *Wait) { wait.Done(); wait.Done() }))
		w.say("never: %v", within(second, func(*Wait) {}))
		_ = p.Sleep(ctx, 5*second) // the late answer comes now and wakes nobody
	})
	w.mustRun()
	want := []string{"1s in time: <nil>", "2s late: context deadline exceeded", "2s at once: <nil>", "2s twice: <nil>",
		"3s never: context deadline exceeded"}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}

// Stop ends the run after the step; Run may go on.
func TestStopAndGoOn(t *testing.T) {
	w := newWorld(t)
	w.process("p", func(p *Process, ctx context.Context) {
		for range 3 {
			_ = p.Sleep(ctx, second)
			w.say("tick")
			w.Stop(nil)
			w.say("the step goes on")
		}
	})
	for i := range 3 {
		r := w.mustRun()
		if want := time.Duration(i+1) * second; r.Elapsed != want || len(w.log) != 2*(i+1) {
			t.Errorf("stopped at %v with %v", r.Elapsed, w.log)
		}
	}
	boom, late := errors.New("boom"), errors.New("late")
	w.at(5*second, func() { w.Stop(boom); w.Stop(late) })
	for range 2 {
		if r := w.Run(); !errors.Is(r.Err, boom) || r.Elapsed != 5*second {
			t.Errorf("err %v at %v", r.Err, r.Elapsed)
		}
	}
}

// RunUntil runs in stages; events at the horizon itself happen.
func TestRunUntil(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.at(time.Duration(i)*second, func() { w.say("event") })
	}
	for _, until := range []time.Duration{second, 1500 * ms, 3 * second} {
		if r := w.RunUntil(until); r.Elapsed != until || r.Err != nil {
			t.Errorf("%v, %v", r.Elapsed, r.Err)
		}
		w.log = append(w.log, "stage")
	}
	want := []string{"0s event", "1s event", "stage", "stage", "2s event", "3s event", "stage"}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}

func TestTimers(t *testing.T) {
	w := newWorld(t)
	fired := w.After(-second, func(any) { w.say("at once") }, nil)
	cancelled := w.After(second, func(any) { w.say("CANCELLED") }, nil)
	w.After(2*second, func(x any) {
		w.say("%v", x)
		if fired.Cancel() || cancelled.Cancel() || (Timer{}).Cancel() {
			t.Error("cancelled what is not pending")
		}
	}, "arg")
	if !cancelled.Cancel() {
		t.Error("not cancelled")
	}
	w.mustRun()
	if d := cmp.Diff([]string{"0s at once", "2s arg"}, w.log); d != "" {
		t.Error(d)
	}
}

// Task ids count by name and incarnation, whatever the order in which tasks run.
func TestTaskIDs(t *testing.T) {
	w := newWorld(t)
	p := w.Process("p")
	main := func(ctx context.Context) {
		for _, name := range []string{"a", "b", "a"} {
			w.log = append(w.log, p.Go(ctx, name, func(context.Context) {}).ID())
		}
	}
	p.Start(main)
	w.at(second, func() { p.Start(main) })
	w.mustRun()
	want := []string{"p#1/a.1", "p#1/b.1", "p#1/a.2", "p#2/a.1", "p#2/b.1", "p#2/a.2"}
	if d := cmp.Diff(want, w.log); d != "" {
		t.Error(d)
	}
}
