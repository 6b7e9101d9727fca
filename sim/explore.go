package sim

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Report is what came of a check over many seeds.
type Report struct {
	Name string

	// Runs is how many seeds were run, without second runs and shrinking.
	Runs uint64

	// Hash is made of the hashes of all runs, in order of seed.
	Hash uint64

	// Steps and Simulated add up the runs.
	Steps     uint64
	Simulated float64 // virtual seconds

	// Results has one entry per seed, without schedule and trace, in order.
	Results []*Result

	// Failure is the first failing seed, or nil.
	Failure *Failure

	// Unreached names the marks that no run reached.
	Unreached []Mark
}

// Mark is something that was to happen in at least one run.
type Mark struct{ Name, Meaning string }

// RunSeed makes the run of one seed.
func RunSeed(o Options, seed uint64, build Build) *Result {
	o = o.withDefaults()
	return once(&o, build, how{source: engine.NewSeed(seed), seed: seed})
}

// TraceSeed is RunSeed for a closer look: the result carries the schedule and
// the whole trace. The hash is the same.
func TraceSeed(o Options, seed uint64, build Build) *Result {
	o = o.withDefaults()
	return once(&o, build, how{source: engine.NewSeed(seed), seed: seed, record: true, trace: engine.TraceNotes})
}

// RunWith is RunSeed with a source of choices of the caller's; the seed only names
// the run.
func RunWith(o Options, seed uint64, src engine.Source, build Build) *Result {
	o = o.withDefaults()
	return once(&o, build, how{source: src, seed: seed})
}

// RecordWith is RunWith whose result carries the schedule.
func RecordWith(o Options, seed uint64, src engine.Source, build Build) *Result {
	o = o.withDefaults()
	return once(&o, build, how{source: src, seed: seed, record: true})
}

// RunSource makes one run whose choices come from src.
func RunSource(o Options, src engine.Source, build Build) *Result {
	o = o.withDefaults()
	return once(&o, build, how{source: src})
}

// explore runs the seeds of o on its workers. Seeds are handed out in order; a
// failure stops seeds above it from starting, so that the first failing seed is
// the same for any number of workers.
func explore(o *Options, build Build) *Report {
	rep := &Report{Name: o.Name, Results: make([]*Result, o.Seeds)}
	var next, done atomic.Uint64
	var failed atomic.Uint64 // lowest failing index + 1
	work := func() {
		for {
			i := next.Add(1) - 1
			if i >= o.Seeds {
				return
			}
			if f := failed.Load(); f != 0 && i >= f {
				return
			}
			r := o.seed(i, build)
			rep.Results[i] = r
			if r.Err != nil {
				lower(&failed, i+1)
			}
			if n := done.Add(1); o.Progress != nil {
				o.Progress(n, o.Seeds)
			}
		}
	}
	defer LazyGC()()
	parallel(o.workers(), work)
	rep.sum(failed.Load())
	return rep
}

// GCPercent is how much garbage runs may leave, in percent of what they use,
// before it is collected: they use little and leave much.
const GCPercent = 400

// LazyGC sets [GCPercent] until the returned function is called, unless the
// environment says how garbage is to be collected.
func LazyGC() (restore func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(GCPercent)
	return func() { debug.SetGCPercent(before) }
}

// seed makes run number i, twice if asked for.
func (o *Options) seed(i uint64, build Build) *Result {
	seed := o.First + i
	if i < uint64(o.Twice) {
		return o.twice(seed, build)
	}
	return once(o, build, how{source: engine.NewSeed(seed), seed: seed})
}

func (o *Options) workers() int {
	n := o.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return int(min(uint64(n), o.Seeds))
}

// lower makes v the minimum of itself and x; zero counts as none.
func lower(v *atomic.Uint64, x uint64) {
	for {
		old := v.Load()
		if old != 0 && old <= x || v.CompareAndSwap(old, x) {
			return
		}
	}
}

// parallel runs work n times at once; once on this goroutine if n is one.
func parallel(n int, work func()) {
	var wg sync.WaitGroup
	for range n - 1 {
		wg.Add(1)
		go func() { //nolint:gocritic // runs are independent; nothing inside one starts a goroutine
			defer wg.Done()
			work()
		}()
	}
	work()
	wg.Wait()
}

// sum adds up the runs before the first failure, and that one.
func (rep *Report) sum(failed uint64) {
	if failed > 0 {
		rep.Results = rep.Results[:failed]
	}
	var marks []Mark
	reached := map[string]bool{}
	for _, r := range rep.Results {
		rep.Runs++
		rep.Steps += r.Steps
		rep.Simulated += r.Elapsed.Seconds()
		rep.Hash = (rep.Hash ^ r.Hash) * 0x9e3779b97f4a7c15
		for _, m := range r.marks {
			if !slices.Contains(marks, m) {
				marks = append(marks, m)
			}
		}
		for _, name := range r.Reached {
			reached[name] = true
		}
		r.marks = nil
	}
	for _, m := range marks {
		if !reached[m.Name] {
			rep.Unreached = append(rep.Unreached, m)
		}
	}
}
