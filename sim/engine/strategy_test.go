package engine

import (
	"context"
	"slices"
	"strconv"
	"testing"
)

// lostAndSeen reports whether a schedule shows a lost update that an observer sees: two
// tasks read and then write one key, a third looks once, and all take steps that have
// nothing to do with it, as do noise other tasks.
func lostAndSeen(src Source, steps, noise int) bool {
	e := New(Config{Source: src})
	p := e.Process("p")
	key := func(s string) Op { return Op{Verb: "use", Key: s} }
	value, seen, lost := 0, -1, false
	p.Start(func(ctx context.Context) {
		own := func(name string, n int) {
			for range n {
				p.Yield(key(name))
			}
		}
		write := func(name string, before int) {
			own(name, before)
			p.Yield(key("shared"))
			read := value
			p.Yield(key("shared"))
			if value != read && seen == value {
				lost = true // what the observer saw is overwritten unread
			}
			value = read + 1
			own(name, steps-before)
		}
		tasks := make([]*Task, 0, 3+noise)
		start := func(name string, f func(context.Context)) { tasks = append(tasks, p.Go(ctx, name, f)) }
		start("a", func(context.Context) { write("a", steps/4) })
		start("b", func(context.Context) { write("b", 3*steps/4) })
		start("observer", func(context.Context) {
			own("observer", steps/2)
			p.Yield(key("shared"))
			seen = value
		})
		for i := range noise {
			start("noise", func(context.Context) { own("noise-"+strconv.Itoa(i), steps) })
		}
		for _, t := range tasks {
			t.Join()
		}
	})
	e.Run()
	if err := e.Close(); err != nil {
		panic(err)
	}
	return lost
}

// median is how many seeds a strategy needs, the median of 7 searches; limit if more.
func median(s Strategy, limit int) int {
	var needed []int
	for trial := range 7 {
		n := 0
		for n < limit && !lostAndSeen(NewSeedWith(uint64(trial*limit+n), s), 20, 10) {
			n++
		}
		needed = append(needed, n+1)
	}
	slices.Sort(needed)
	return needed[len(needed)/2]
}

// Restricted to operations that may conflict, strategies find a race of two ordering
// constraints among noise in some tens of seeds; over all operations they need many
// times that.
func TestStrategiesOnConflictsAreNotDiluted(t *testing.T) {
	const limit = 500
	for name, s := range map[string]Strategy{
		"pos": POS(), "pct": OnConflicts(PCT(3, 40)), "uniform": OnConflicts(Uniform()),
	} {
		if n := median(s, limit); n > 250 {
			t.Errorf("%s on conflicts needs %d seeds", name, n)
		} else {
			t.Logf("%s on conflicts: %d seeds", name, n)
		}
	}
	conflicts, all := median(OnConflicts(PCT(3, 40)), limit), median(PCT(3, 300), limit)
	if all < 2*conflicts {
		t.Errorf("PCT needs %d seeds over all operations and %d on conflicts", all, conflicts)
	}
	t.Logf("PCT over all operations: %d seeds", all)
}

// A strategy is a function of the seed, and what it decides can be replayed.
func TestStrategiesRepeat(t *testing.T) {
	for name, s := range map[string]Strategy{
		"pct": PCT(3, 50), "all pos": AllPOS(), "sticky on conflicts": OnConflicts(Sticky()), "pct on conflicts": OnConflicts(PCT(2, 8)),
	} {
		for seed := range uint64(5) {
			first := runProgram(seed, Config{Source: NewSeedWith(seed, s), Record: true})
			again := runProgram(seed, Config{Source: NewSeedWith(seed, s)})
			replayed := runProgram(seed, Config{Source: NewReplay(first.Schedule)})
			if first.Hash != again.Hash || first.Hash != replayed.Hash {
				t.Errorf("%s, seed %d: %x, again %x, replayed %x", name, seed, first.Hash, again.Hash, replayed.Hash)
			}
		}
	}
}

// An observer is told of each event, and the run is the same with and without it.
func TestObserve(t *testing.T) {
	plain := runProgram(3, Config{Source: NewSeed(3), Trace: TraceFull})
	n := 0
	observed := runProgram(3, Config{Source: NewSeed(3), Observe: func(Event) { n++ }})
	want := 0
	for _, r := range plain.Records {
		if r.Kind != "step" {
			want++
		}
	}
	if n != want || plain.Hash != observed.Hash {
		t.Errorf("%d events of %d observed; hash %x, observed %x", n, want, plain.Hash, observed.Hash)
	}
}
