package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/sim"
)

// Plan says which runs to make of some scenario files.
type Plan struct {
	Files []*File

	// First is the first seed. Seeds is how many are run; zero means what each
	// scenario asks for.
	First uint64
	Seeds int

	// Workers run side by side; zero means one per processor. Nothing but the
	// time taken depends on it.
	Workers int

	// Verify runs each seed twice and compares the hashes; Twice does so for that
	// many of the first seeds of each file.
	Verify bool
	Twice  int

	// UntilShown stops a scenario that is written to show a violation once it has
	// been seen. Runs above the first that showed it are not reported.
	UntilShown bool

	// Done, if set, is called after each run with the number of runs made and to
	// make, from any worker, one call at a time.
	Done func(done, all int)

	// Each, if set, is called with each outcome, ordered by file and seed, one
	// call at a time.
	Each func(*Outcome)

	// Judged, if set, is called with the verdict on each file when all its runs
	// are done, in the order of the files, one call at a time.
	Judged func(*Verdict)
}

// seeds is how many seeds of a file are run.
func (p *Plan) seeds(file *File) int {
	if p.Seeds > 0 {
		return p.Seeds
	}
	return file.Explore.Seeds
}

// Runs is how many runs the plan makes.
func (p *Plan) Runs() int {
	n := 0
	for _, file := range p.Files {
		n += p.seeds(file)
	}
	return n
}

// Longest is how many seeds the file with most of them runs.
func (p *Plan) Longest() int {
	n := 0
	for _, file := range p.Files {
		n = max(n, p.seeds(file))
	}
	return n
}

// job is one run to be made.
type job struct {
	file  *File
	index int // of the file in the plan
	seed  uint64
	twice bool // to see that it is repeatable
	last  bool // of its file
}

// Run carries out a plan. Runs are handed out in order and their outcomes are
// reported in order. When ctx ends no further run is started, and the verdicts
// are on what was reported by then; the error is ctx's.
func (r *Registry) Run(ctx context.Context, p Plan) ([]Verdict, error) {
	jobs := p.jobs()
	e := &exploration{registry: r, plan: &p, jobs: jobs, outcomes: make([]*Outcome, len(jobs)), shown: map[int]uint64{}}
	workers := p.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	defer sim.LazyGC()()
	var wg sync.WaitGroup
	for range min(workers, len(jobs)) {
		wg.Go(func() { e.work(ctx) })
	}
	wg.Wait()
	if e.from < e.reported { // interrupted in the middle of a file
		e.judge(e.jobs[e.from].file, e.outcomes[e.from:e.reported], true)
	}
	return e.verdicts, ctx.Err()
}

func (p *Plan) jobs() []job {
	var jobs []job
	for index, file := range p.Files {
		n := p.seeds(file)
		for i := range n {
			jobs = append(jobs, job{file: file, index: index, seed: p.First + uint64(i), twice: p.Verify || i < p.Twice, last: i == n-1})
		}
	}
	return jobs
}

// exploration is a plan being carried out by several workers.
type exploration struct {
	registry *Registry
	plan     *Plan
	jobs     []job

	mu       sync.Mutex
	next     int // the next job to hand out
	reported int // outcomes reported so far: always the first ones
	from     int // the first job of the file being reported
	verdicts []Verdict
	done     int
	outcomes []*Outcome
	shown    map[int]uint64 // by index of the file: the lowest seed known to show the expected violation
}

func (e *exploration) work(ctx context.Context) {
	for ctx.Err() == nil {
		i, ok := e.take()
		if !ok {
			return
		}
		e.finish(i, e.registry.guarded(e.jobs[i]))
	}
}

// take hands out the next job that still matters.
func (e *exploration) take() (int, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.next < len(e.jobs) {
		i := e.next
		e.next++
		if seed, ok := e.shown[e.jobs[i].index]; !ok || e.jobs[i].seed < seed {
			return i, true
		}
	}
	e.report()
	return 0, false
}

func (e *exploration) finish(i int, o *Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcomes[i] = o
	e.done++
	if e.plan.UntilShown && o.Expected() {
		if seed, ok := e.shown[e.jobs[i].index]; !ok || o.Seed < seed {
			e.shown[e.jobs[i].index] = o.Seed
		}
	}
	if e.plan.Done != nil {
		e.plan.Done(e.done, len(e.jobs))
	}
	e.report()
}

// report passes on what is complete from the front. A run that was made although
// an earlier seed had already shown the violation is dropped, so that what is
// reported does not depend on the number of workers.
func (e *exploration) report() {
	for e.reported < len(e.jobs) {
		i := e.reported
		j, o := e.jobs[i], e.outcomes[i]
		seed, shown := e.shown[j.index]
		dropped := shown && j.seed > seed
		if o == nil && !dropped {
			return
		}
		e.reported++
		if dropped {
			e.outcomes[i] = nil
		} else if e.plan.Each != nil {
			e.plan.Each(o)
		}
		if j.last {
			e.judge(j.file, e.outcomes[e.from:e.reported], false)
			e.from = e.reported
		}
	}
}

func (e *exploration) judge(file *File, outcomes []*Outcome, partly bool) {
	v := judge(file, outcomes)
	if partly && errors.Is(v.Err, ErrNotShown) {
		v.Err = nil // the runs left out might have shown it
	}
	e.verdicts = append(e.verdicts, v)
	if e.plan.Judged != nil {
		e.plan.Judged(&v)
	}
}

// guarded is runJob that survives a mistake of the simulator: the outcome names
// the run, and all other runs are made.
func (r *Registry) guarded(j job) (o *Outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = &Outcome{File: j.file, Seed: j.seed, Result: Failed, Err: fmt.Errorf("panic in the simulator: %v\n%s", p, debug.Stack())}
		}
	}()
	return r.runJob(j)
}

// runJob makes one run, twice if asked for.
func (r *Registry) runJob(j job) *Outcome {
	if j.twice {
		return r.VerifySeed(j.file, j.seed)
	}
	return r.RunSeed(j.file, j.seed)
}

// Verdict is what all runs of one file together say.
type Verdict struct {
	File      *File
	Runs      int
	Steps     uint64
	Simulated time.Duration
	Faults    []string // kinds of fault that struck in any run, sorted
	Shown     int      // runs that violated the expected property

	// Absent names the conditions of the scenario's own that no run has put to the
	// test: something that they name, perhaps misspelt, never existed. Sorted.
	Absent []string

	// Bad is the first run that decides against the scenario, or nil: another
	// property violated than the expected one, or an error.
	Bad *Outcome

	// First is the first run that showed the expected violation, or nil.
	First *Outcome

	// Err says that a property was to be violated and was not, or repeats the
	// error of Bad.
	Err error
}

// ErrNotShown says that a scenario expects a violation that no run has shown.
var ErrNotShown = errors.New("expected violation not seen")

// OK reports whether the file showed what it is written to show.
func (v *Verdict) OK() bool { return v.Bad == nil && v.Err == nil }

// absent names the conditions whose objects were absent in all runs.
func absent(outcomes []*Outcome) []string {
	all := map[string]bool{}
	for _, o := range outcomes {
		if o == nil {
			continue
		}
		for name, absent := range o.absent { // the order does not show
			if before, asked := all[name]; !asked || before {
				all[name] = absent
			}
		}
	}
	maps.DeleteFunc(all, func(_ string, absent bool) bool { return !absent })
	return slices.Sorted(maps.Keys(all))
}

// judge sums up the runs of one file; outcomes that were not made are nil.
func judge(file *File, outcomes []*Outcome) Verdict {
	v := Verdict{File: file, Absent: absent(outcomes)}
	for _, o := range outcomes {
		if o == nil {
			continue
		}
		v.Runs++
		v.Steps += o.Steps
		v.Simulated += o.Simulated
		v.Faults = merge(v.Faults, o.Faults)
		switch {
		case o.Expected():
			v.Shown++
			if v.First == nil {
				v.First = o
			}
		case o.Result != Held && v.Bad == nil:
			v.Bad, v.Err = o, o.Err
		}
	}
	if v.Bad == nil && file.Expect.Violates != "" && v.Shown == 0 {
		v.Err = fmt.Errorf("%w: %s held in all %s", ErrNotShown, file.Expect.Violates, Count(v.Runs, "run"))
	}
	return v
}
