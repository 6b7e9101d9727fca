package engine

import (
	"container/heap"
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// BenchmarkSwitch compares a resume and yield of a task, with trace, death and
// identity checks, with a hand-off between goroutines over unbuffered channels.
// The target is at most 0.4 of the latter and at most 110 ns.
func BenchmarkSwitch(b *testing.B) {
	b.Run("engine/tasks=1", func(b *testing.B) { benchYield(b, 1) })
	b.Run("engine/tasks=10000", func(b *testing.B) { benchYield(b, 10_000) })
	b.Run("channels/tasks=1", func(b *testing.B) { benchChannels(b, 1) })
	b.Run("channels/tasks=10000", func(b *testing.B) { benchChannels(b, 10_000) })
}

func benchYield(b *testing.B, n int) { benchRun(b, runYield(n), b.N) }

// benchRun measures a number of steps of an engine that would run for ever.
func benchRun(b *testing.B, e *Engine, steps int) {
	b.ReportAllocs()
	b.ResetTimer()
	runSteps(e, steps)
	b.StopTimer()
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
}

// runSteps takes so many more steps.
func runSteps(e *Engine, steps int) {
	e.cfg.MaxSteps = e.steps + uint64(steps)
	e.moveTo(e.now)
	e.err = nil
	e.Run()
}

// runYield is a run of n tasks that yield in turn. All of them have started.
func runYield(n int) *Engine {
	e := New(Config{Source: fifoSource{}, Strict: true, StepsPerInstant: 1 << 62})
	p := e.Process("p")
	op := Op{Verb: "get", Key: "secrets/ns/name"}
	spin := func(context.Context) {
		for {
			p.Yield(op)
		}
	}
	p.Start(func(ctx context.Context) {
		for range n - 1 {
			p.Go(ctx, "spin", spin)
		}
		spin(ctx)
	})
	runSteps(e, 3*n)
	return e
}

// runSleep is a run of n tasks that sleep. All of them have started.
func runSleep(n int) *Engine {
	e := New(Config{Source: fifoSource{}, Strict: true})
	p := e.Process("p")
	p.Start(func(ctx context.Context) {
		for i := range n - 1 {
			p.Go(ctx, "sleeper", func(ctx context.Context) {
				for {
					_ = p.Sleep(ctx, time.Duration(1000+i))
				}
			})
		}
		for {
			_ = p.Sleep(ctx, time.Microsecond)
		}
	})
	runSteps(e, 3*n)
	return e
}

// runEvents is a run of n callbacks that schedule themselves again.
func runEvents(n int) *Engine {
	e := New(Config{Source: fifoSource{}, Strict: true})
	var again func(any)
	again = func(any) { e.After(1000, again, nil) }
	for i := range n {
		e.After(time.Duration(i), again, nil)
	}
	return e
}

// fifoSource runs the task that has been ready for longest.
type fifoSource struct{ Source }

func (fifoSource) Begin()                {}
func (fifoSource) Entropy() uint64       { return 0 }
func (fifoSource) Next(*Contention) int  { return 0 }
func (fifoSource) Stream(string) Chooser { return nil }

func benchChannels(b *testing.B, n int) {
	type pair struct{ in, out chan struct{} }
	ps := make([]pair, n)
	for i := range ps {
		ps[i] = pair{make(chan struct{}), make(chan struct{})}
		go func() {
			for range ps[i].in {
				ps[i].out <- struct{}{}
			}
		}()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		p := ps[i%n]
		p.in <- struct{}{}
		<-p.out
	}
	b.StopTimer()
	for _, p := range ps {
		close(p.in)
	}
}

// BenchmarkContended is a decision between n ready tasks and the step that follows, by
// strategy.
func BenchmarkContended(b *testing.B) {
	for name, s := range map[string]Strategy{"uniform": Uniform(), "sticky": Sticky(), "pos": POS()} {
		for _, n := range []int{2, 100, 5000} {
			b.Run(name+"/tasks="+strconv.Itoa(n), func(b *testing.B) {
				e := runYield(n)
				e.source = NewSeedWith(1, s)
				e.source.Begin()
				benchRun(b, e, b.N)
			})
		}
	}
}

// BenchmarkSleep is a whole wait in virtual time: timer, event, resume.
func BenchmarkSleep(b *testing.B) {
	b.Run("tasks=1", func(b *testing.B) { benchRun(b, runSleep(1), 2*b.N) })
	b.Run("tasks=100", func(b *testing.B) { benchRun(b, runSleep(100), 2*b.N) })
	b.Run("tasks=10000", func(b *testing.B) { benchRun(b, runSleep(10_000), 2*b.N) })
}

// BenchmarkAwait is a request and its answer: two events, one resume, 1,000 callers.
func BenchmarkAwait(b *testing.B) {
	e := New(Config{Source: fifoSource{}, Strict: true})
	p := e.Process("p")
	done := func(arg any) { arg.(*Wait).Done() }
	serve := func(arg any) { e.After(time.Millisecond, done, arg) }
	send := func(w *Wait) { e.After(time.Millisecond, serve, w) }
	op := Op{Verb: "get", Key: "secrets/ns/name"}
	p.Start(func(ctx context.Context) {
		caller := func(ctx context.Context) {
			for {
				_ = p.Await(ctx, op, send)
			}
		}
		for range 999 {
			p.Go(ctx, "caller", caller)
		}
		caller(ctx)
	})
	runSteps(e, 3000)
	benchRun(b, e, 3*b.N)
}

// BenchmarkParkedTask reports the memory of a task that waits. The target is 3,500
// bytes in all.
func BenchmarkParkedTask(b *testing.B) {
	const tasks = 10_000
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		e := runSleep(tasks)
		runtime.GC()
		runtime.ReadMemStats(&after)
		_ = e.Close()
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/tasks, "heap-B/task")
	b.ReportMetric(float64(after.StackInuse-before.StackInuse)/tasks, "stack-B/task")
}

// BenchmarkTimer holds n pending events. One operation is a push and a pop, or a push
// and, four times of five, a cancel, as of a timeout that is not needed. The target at
// 100,000 is 130 ns and no allocation.
func BenchmarkTimer(b *testing.B) {
	for _, n := range []int{1e3, 1e5} {
		name := strconv.Itoa(n)
		b.Run("pop/pending="+name, func(b *testing.B) { benchTimer(b, n, 0) })
		b.Run("cancel/pending="+name, func(b *testing.B) { benchTimer(b, n, 4) })
		b.Run("pop/peer=container-heap/pending="+name, func(b *testing.B) { benchContainerHeap(b, n) })
	}
}

// benchTimer pushes and, in so many of five operations, cancels; else it pops.
func benchTimer(b *testing.B, n, cancels int) {
	var q queue
	r := prng(1)
	for range n {
		q.push(delay(&r), nop, nil)
	}
	now := int64(0)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		s, gen := q.push(now+delay(&r), nop, nil)
		if i%5 < cancels {
			q.cancel(s, gen)
			continue
		}
		e, _, _ := q.pop()
		now = e.at
	}
}

func benchContainerHeap(b *testing.B, n int) {
	var h stdHeap
	r := prng(1)
	for range n {
		heap.Push(&h, &stdEvent{at: delay(&r), fn: nop})
	}
	now := int64(0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		heap.Push(&h, &stdEvent{at: now + delay(&r), fn: nop})
		now = heap.Pop(&h).(*stdEvent).at
	}
}

func nop(any) {}

// delay draws latencies from 0.1 ms to 10 min, evenly over orders of magnitude.
func delay(r *prng) int64 {
	x := r.next()
	return int64(100_000+x>>47) << (x % 22)
}

type stdEvent struct {
	at int64
	fn func(any)
}

type stdHeap []*stdEvent

func (h stdHeap) Len() int           { return len(h) }
func (h stdHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h stdHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *stdHeap) Push(x any)        { *h = append(*h, x.(*stdEvent)) }
func (h *stdHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return x
}

// BenchmarkCreateKill starts a task, runs it to its first wait and crashes it.
// The target is 1.2 us. With tasks=1 it includes a whole process.
func BenchmarkCreateKill(b *testing.B) {
	b.Run("tasks=1", func(b *testing.B) { benchCreateKill(b, 1) })
	b.Run("tasks=100", func(b *testing.B) { benchCreateKill(b, 100) })
}

func benchCreateKill(b *testing.B, n int) {
	e := New(Config{Source: fifoSource{}, Strict: true})
	p := e.Process("p")
	left := b.N
	wait := func(ctx context.Context) { _ = p.Sleep(ctx, time.Hour) }
	main := func(ctx context.Context) {
		for range n - 1 {
			p.Go(ctx, "worker", wait)
		}
		wait(ctx)
	}
	var again func(any)
	again = func(any) {
		p.Crash()
		if left -= n; left > 0 {
			p.Start(main)
			e.After(time.Second, again, nil)
		}
	}
	again(nil)
	b.ReportAllocs()
	b.ResetTimer()
	if r := e.Run(); r.Err != nil {
		b.Fatal(r.Err)
	}
}

// BenchmarkEmit appends an event to the trace hash.
func BenchmarkEmit(b *testing.B) {
	e := New(Config{Source: fifoSource{}, Strict: true})
	ev := Event{Kind: "api", Actor: "node-17", Verb: "update", Object: "secrets/team-a/database", N: 200}
	b.ReportAllocs()
	for b.Loop() {
		e.Emit(ev)
	}
}

// BenchmarkEvent is a callback that schedules the next one.
func BenchmarkEvent(b *testing.B) { benchRun(b, runEvents(1000), b.N) }
