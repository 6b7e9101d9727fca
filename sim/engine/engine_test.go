package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestSleepersWakeInOrder(t *testing.T) {
	e := New(Config{Source: NewSeed(1), Strict: true})
	defer e.Close()
	p := e.Process("p")
	var log []string
	p.Start(func(ctx context.Context) {
		var ts []*Task
		for _, d := range []time.Duration{3, 1, 2} {
			ts = append(ts, p.Go(ctx, "sleeper", func(ctx context.Context) {
				if err := p.Sleep(ctx, d*time.Second); err != nil {
					t.Error(err)
				}
				log = append(log, p.Now().Format("05"))
			}))
		}
		for _, x := range ts {
			x.Join()
		}
		log = append(log, "end")
	})
	r := e.Run()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if got := len(log); got != 4 || log[3] != "end" || log[0] != "01" || log[2] != "03" {
		t.Fatalf("log = %v", log)
	}
	if r.Elapsed != 3*time.Second || p.Alive() {
		t.Fatalf("elapsed %v, alive %v", r.Elapsed, p.Alive())
	}
}

func TestAwaitAndDeadline(t *testing.T) {
	e := New(Config{Source: NewSeed(1), Strict: true})
	defer e.Close()
	p := e.Process("p")
	p.Start(func(ctx context.Context) {
		reply := func(d time.Duration) func(*Wait) {
			return func(w *Wait) { e.After(d, func(any) { w.Done() }, nil) }
		}
		if err := p.Await(ctx, Op{Verb: "get"}, reply(time.Second)); err != nil {
			t.Error(err)
		}
		c, cancel := p.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := p.Await(c, Op{Verb: "get"}, reply(2*time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if e.Elapsed() != 2*time.Second {
			t.Error(e.Elapsed())
		}
		s := p.NewSignal()
		e.After(time.Second, func(any) { s.Send() }, nil)
		if err := s.Wait(ctx); err != nil {
			t.Error(err)
		}
		d, cancel2 := p.WithCancel(context.WithValue(ctx, "k", "v"))
		p.Go(ctx, "canceller", func(context.Context) { cancel2() })
		if err := p.Sleep(d, time.Hour); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	if r := e.Run(); r.Err != nil {
		t.Fatalf("%+v", r.Err)
	}
}

func TestCrashUnwinds(t *testing.T) {
	e := New(Config{Source: NewSeed(1), Strict: true})
	p := e.Process("p")
	var log []string
	p.Start(func(ctx context.Context) {
		defer func() {
			log = append(log, "defer")
			_ = p.Sleep(ctx, 1)
			log = append(log, "ACTED")
		}()
		for {
			func() {
				defer func() { recover() }()
				_ = p.Sleep(ctx, time.Second)
			}()
		}
	})
	e.After(2500*time.Millisecond, func(any) { p.Crash() }, nil)
	if r := e.Run(); r.Err != nil {
		t.Fatal(r.Err)
	}
	if len(log) != 1 || p.Alive() || e.live != 0 {
		t.Fatal(log, p.Alive(), e.live)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
