package engine

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// draws takes a fixed mix of choices from two streams.
func draws(e *Engine) (out []int64) {
	a, b := e.Stream("delay", "a"), e.Stream("fault/drop", "b")
	for range 8 {
		hit := int64(0)
		if b.Hit(300_000) {
			hit = 1
		}
		out = append(out, int64(a.Intn(1000)), int64(a.Duration(Dist{Min: ms, Mean: 5 * ms, Max: second})), hit)
	}
	return out
}

// The simplest source gives the simplest outcome of everything.
func TestZeroIsSimplest(t *testing.T) {
	for name, src := range map[string]Source{
		"replay of nothing": NewReplay(Schedule{}),
		"no bytes":          NewBytes(nil),
		"draws of zero":     NewDraw(func(string, uint64) uint64 { return 0 }),
	} {
		e := New(Config{Source: src, Record: true})
		for i, x := range draws(e) {
			want := int64(0)
			if i%3 == 1 {
				want = int64(ms)
			}
			if x != want {
				t.Errorf("%s: draw %d = %d", name, i, x)
			}
		}
		if r := e.Run(); len(r.Schedule.Picks) != 0 || r.Schedule.Entropy != 0 {
			t.Errorf("%s: recorded %v", name, r.Schedule)
		}
	}
}

// One stream is the same however much others are used, and other labels give
// other streams.
func TestStreamsAreIndependent(t *testing.T) {
	take := func(seed uint64, label string, noise int) (out []int) {
		e := New(Config{Source: NewSeed(seed)})
		s := e.Stream("delay", label)
		if s != e.Stream("delay", label) {
			t.Error("the same label gives another stream")
		}
		for range 20 {
			for range noise {
				e.Stream("delay", "noise").Intn(7)
			}
			out = append(out, s.Intn(1000))
		}
		return out
	}
	want := take(1, "a", 0)
	if d := cmp.Diff(want, take(1, "a", 3)); d != "" {
		t.Error(d)
	}
	if cmp.Equal(want, take(1, "b", 0)) || cmp.Equal(want, take(2, "a", 0)) {
		t.Error("streams are not different")
	}
}

// Random bytes depend on the run's one entropy choice, the entity, and how many
// were drawn; not on other choices.
func TestEntropy(t *testing.T) {
	take := func(s Schedule, entity string) (out [20]byte) {
		e := New(Config{Source: NewReplay(s)})
		n, err := e.Entropy(entity).Read(out[:12])
		if n != 12 || err != nil {
			t.Error(n, err)
		}
		_, _ = e.Entropy(entity).Read(out[12:])
		return out
	}
	s := Schedule{Entropy: 7}
	want := take(s, "a")
	s.Picks = []Pick{{"x/y", 0, 1}}
	if take(s, "a") != want {
		t.Error("depends on other choices")
	}
	if take(s, "b") == want || take(Schedule{Entropy: 8}, "a") == want || want[0] == want[8] && want[1] == want[9] {
		t.Error("not different")
	}
}

// Bytes reach every outcome, up to the rarest, and the same bytes give the same run.
func TestBytesReachEveryOutcome(t *testing.T) {
	stream := func(data ...byte) *Stream {
		return New(Config{Source: NewBytes(append([]byte{0, 0}, data...))}).Stream("x", "y")
	}
	for i := range 256 {
		if got := stream(byte(i)).Intn(256); got != i {
			t.Errorf("byte %d gives %d", i, got)
		}
	}
	if !stream(255).Hit(1) || stream(254).Hit(1) || !stream(128).Hit(500_000) {
		t.Error("the rarest fault needs the byte 255, an even one half of them")
	}
	if d := stream(255, 255).Duration(Dist{Mean: ms, Max: 40 * ms}); d != 40*ms {
		t.Errorf("the longest delay is %v", d)
	}
}

func FuzzBytes(f *testing.F) {
	f.Add([]byte("seedbed"), uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, shape uint64) {
		first := runProgram(shape, Config{Source: NewBytes(data), Record: true})
		again := runProgram(shape, Config{Source: NewReplay(first.Schedule)})
		if first.Hash != again.Hash || again.Diverged {
			t.Errorf("%x, replayed %x, diverged %v", first.Hash, again.Hash, again.Diverged)
		}
	})
}

// A draw function that panics abandons the run with that panic, past the stacks
// and the recovers of tasks, wherever the run is.
func TestDrawMayAbandonTheRun(t *testing.T) {
	tests := map[string]struct {
		left  int
		where string
	}{
		"the schedule":            {0, "New"},
		"the entropy":             {1, "New"},
		"a choice before the run": {2, "Intn"},
		"a choice inside the run": {5, "Run"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			src := NewDraw(func(_ string, n uint64) uint64 {
				if tt.left--; tt.left < 0 {
					panic("out of data")
				}
				return n - 1
			})
			at := "New"
			var g *program
			func() {
				defer func() {
					if r := recover(); r != "out of data" || Aborted(src) != r || at != tt.where {
						t.Errorf("%s panics with %v, want it of %s", at, r, tt.where)
					}
				}()
				g = newProgram(1, Config{Horizon: second, Source: src})
				at = "Intn"
				g.e.Stream("before", "run").Intn(2)
				at = "Run"
				g.e.Run()
				t.Error("not abandoned")
			}()
			if g == nil {
				return
			}
			if err := g.e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDrawIsAskedWithinRange(t *testing.T) {
	labels := map[string]bool{}
	r := prng(1)
	src := NewDraw(func(label string, n uint64) uint64 {
		if n < 2 {
			t.Errorf("%s: a choice of %d", label, n)
		}
		labels[label] = true
		return r.below(n)
	})
	draws(New(Config{Source: src}))
	want := map[string]bool{"schedule": true, "entropy": true, "delay/a": true, "fault/drop/b": true}
	if d := cmp.Diff(want, labels); d != "" {
		t.Error(d)
	}
}

// Distributions keep their bounds and means.
func TestDistributions(t *testing.T) {
	const n = 200_000
	e := New(Config{Source: NewSeed(1)})
	table := []struct {
		dist      Dist
		mean      time.Duration
		low, high time.Duration
	}{
		{Dist{Mean: 10 * ms, Max: second}, 10 * ms, 0, second},
		{Dist{Min: 5 * ms, Mean: 10 * ms}, 10 * ms, 5 * ms, 85 * ms},
		{Dist{Min: 2 * ms, Max: 4 * ms}, 3 * ms, 2 * ms, 4 * ms},
		{Constant(7 * ms), 7 * ms, 7 * ms, 7 * ms},
		{Dist{Min: 7 * ms}, 7 * ms, 7 * ms, 7 * ms},
		{Dist{Min: 7 * ms, Mean: 3 * ms, Max: ms}, 7 * ms, 7 * ms, 7 * ms},
		{Dist{Min: ms, Mean: time.Hour, Max: ms}, ms, ms, ms},
	}
	for i, row := range table {
		s := e.Stream("dist", fmt.Sprint(i))
		var sum time.Duration
		low, high := time.Duration(math.MaxInt64), time.Duration(0)
		for range n {
			d := s.Duration(row.dist)
			sum, low, high = sum+d, min(low, d), max(high, d)
		}
		mean := sum / n
		if mean < row.mean*98/100 || mean > row.mean*102/100 || low < row.low || high > row.high {
			t.Errorf("%v: mean %v in [%v, %v]", row.dist, mean, low, high)
		}
	}
	hits := 0
	for range n {
		if e.Stream("hit", "x").Hit(250_000) {
			hits++
		}
	}
	if hits < n*24/100 || hits > n*26/100 {
		t.Errorf("%d hits of %d at a quarter", hits, n)
	}
}

// The integer exponential agrees with floating point and does not decrease.
func TestExponential(t *testing.T) {
	const n = 100_000
	last := uint64(0)
	for i := range uint64(n) {
		u := i * ((1<<64 - 1) / n)
		const mean = 1_000_000_000
		got := exponential(u, mean)
		want := -mean * math.Log1p(-float64(u)/(1<<64))
		if math.Abs(float64(got)-want) > 5e-6*mean*(1+want/mean) {
			t.Fatalf("u=%x: %d, want %f", u, got, want)
		}
		if got < last {
			t.Fatalf("u=%x: decreases from %d to %d", u, last, got)
		}
		last = got
	}
	if exponential(0, 1<<62) != 0 || exponential(1<<64-1, 1<<62) != 1<<64-1 {
		t.Error("ends of the range")
	}
}
