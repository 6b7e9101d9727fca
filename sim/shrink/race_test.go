package shrink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// A race of three tasks with two ordering constraints, lost in noise: T1 reads a
// counter and writes it back a little later, T2 does the same, and T3 looks. The
// bug is that T3 sees T2's update and it is lost afterwards.
type race struct {
	padding, window, noise int
}

var errSeenAndLost = errors.New("an update was seen and then lost")

// run executes one schedule of the race. Each letter of a task's script is one
// operation: r and w read and write the counter, s looks at it, . is irrelevant.
func (r race) run(src engine.Source) engine.Result {
	pad := func(n int) string { return string(slices.Repeat([]byte{'.'}, n)) }
	l := r.padding
	scripts := []string{
		pad(l/2) + "r" + pad(r.window) + "w" + pad(l/2),
		pad(l*3/4) + "rw" + pad(l/4),
		pad(l/4) + "s" + pad(l*3/4),
	}
	for range r.noise {
		scripts = append(scripts, pad(l))
	}
	e := engine.New(engine.Config{Source: src, Record: true})
	defer func() { _ = e.Close() }()
	p := e.Process("p")
	counter, seen := 0, -1
	task := func(i int, script string) func(context.Context) {
		return func(context.Context) {
			read := 0
			for _, op := range script {
				key := "counter"
				if op == '.' {
					key = ""
				}
				p.Yield(engine.Op{Verb: string(op), Key: key, Write: op == 'w'})
				switch op {
				case 'r':
					read = counter
				case 'w':
					counter = read + 1 + 10*i // T1 adds 1, T2 adds 11
				case 's':
					seen = counter
				}
			}
		}
	}
	p.Start(func(ctx context.Context) {
		var tasks []*engine.Task
		for i, script := range scripts {
			tasks = append(tasks, p.Go(ctx, fmt.Sprintf("T%d", i+1), task(i, script)))
		}
		for _, t := range tasks {
			t.Join()
		}
		if counter == 1 && seen == 11 {
			e.Stop(errSeenAndLost)
		}
	})
	return e.Run()
}

func (r race) fails(s engine.Schedule) bool {
	return errors.Is(r.run(engine.NewReplay(s)).Err, errSeenAndLost)
}

// find returns a failing schedule.
func (r race) find(t testing.TB, from uint64) engine.Result {
	for seed := from; seed < from+100_000; seed++ {
		if res := r.run(engine.NewSeed(seed)); res.Err != nil {
			return res
		}
	}
	t.Fatal("the race was not found")
	return engine.Result{}
}

// The race shrinks to a minimum, within 500 runs also from 10,000 steps.
func TestRaceShrinksToAMinimum(t *testing.T) {
	sizes := []race{{8, 4, 0}, {40, 4, 5}, {200, 4, 5}, {200, 4, 50}}
	for _, r := range sizes {
		t.Run(fmt.Sprintf("padding=%d,noise=%d", r.padding, r.noise), func(t *testing.T) {
			answers := map[string]bool{}
			for trial := range uint64(4) {
				bad := r.find(t, trial<<32)
				got := Shrink(bad.Schedule, r.fails, Budget{Runs: 500})
				t.Logf("%d steps, %d blocks -> %d runs: %v", bad.Steps, len(bad.Schedule.Blocks), got.Runs, got.Schedule.Blocks)
				if !got.Complete {
					t.Errorf("not complete after %d runs", got.Runs)
				}
				if len(got.Schedule.Blocks) > 3 || len(got.Schedule.Picks) > 0 {
					t.Errorf("not minimal: %+v", got.Schedule)
				}
				r.checkMinimal(t, got.Schedule)
				answers[fmt.Sprint(got.Schedule)] = true
			}
			if len(answers) > 1 {
				t.Errorf("%d different minima", len(answers))
			}
		})
	}
}

// checkMinimal checks that the schedule fails, and that it does not with any block
// one step shorter.
func (r race) checkMinimal(t *testing.T, s engine.Schedule) {
	t.Helper()
	if !r.fails(s) {
		t.Error("the result does not fail")
	}
	for i := range s.Blocks {
		shorter := s
		shorter.Blocks = slices.Clone(s.Blocks)
		shorter.Blocks[i].Steps--
		if r.fails(shorter) {
			t.Errorf("also fails with block %d one step shorter: %v", i, s.Blocks)
		}
	}
}

// BenchmarkShrink is the whole search from 10,000 steps.
func BenchmarkShrink(b *testing.B) {
	r := race{200, 4, 50}
	bad := r.find(b, 0)
	runs := 0
	for b.Loop() {
		runs = Shrink(bad.Schedule, r.fails, Budget{}).Runs
	}
	b.ReportMetric(float64(runs), "runs/op")
}
