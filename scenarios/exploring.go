package scenarios

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

// Exploration says how scenarios are to be explored.
type Exploration struct {
	Files []*File

	// Seeds are the seeds of each file.
	Seeds explore.Seeds

	// For, if it is not zero, is the real time after which no run is started.
	For time.Duration

	// Workers run side by side; zero means one per processor. Nothing but the time
	// taken depends on it, unless For ends the exploration.
	Workers int

	// Search is what the search is made of.
	Search explore.Selection

	// Faults, if not empty, stand in place of those of the scenarios; see
	// [Registry.Override].
	Faults string

	// Progress, if set, is called after each batch of runs.
	Progress func(*Explored)
}

// Explored is what came of an exploration, or has come of it so far.
type Explored struct {
	Runs    int
	Files   []*ExploredFile
	Took    time.Duration  // real time
	LastNew time.Duration  // when a run last showed something new
	Faults  map[string]int // how many runs each kind of fault has struck
}

// ExploredFile is what came of one file.
type ExploredFile struct {
	File     *File
	Runs     int
	Searches map[string]int // runs by search
	Survey   explore.Survey
	Map      *explore.Map
	Faults   map[string]int // how many runs each kind of fault has struck
	Quiet    []string       // kinds of fault that its runs may have and that never struck, sorted
	Absent   []string       // see Verdict
	Covered  string         // what searches say that go through all there is
	Shown    int            // runs that violated what the scenario is written to show

	// Untold is how many runs did not come to the end of the story although nothing
	// else was wrong. It says nothing about the system when the faults are not those
	// that the waits of the story were written for.
	Untold int
	Late   *Outcome // the first of them

	// Bad is the run that decides against the file, or nil: it is not explored
	// further.
	Bad *Outcome
}

// States is how many distinct states of clusters were seen.
func (e *Explored) States() int {
	n := 0
	for _, f := range e.Files {
		n += f.Map.States()
	}
	return n
}

// Edges is how many edges between operations and faults of components were seen.
func (e *Explored) Edges() int {
	n := 0
	for _, f := range e.Files {
		n += f.Map.Edges()
	}
	return n
}

// batch is how many runs of each file are made before searches learn of them.
const batch = 32

// explorer is an exploration being carried out.
type explorer struct {
	registry *Registry
	plan     *Exploration
	faults   []cluster.Fault
	start    time.Time
	files    []*exploredFile
	sum      *Explored
}

type exploredFile struct {
	*ExploredFile
	search explore.Search
	outs   []*trial
	done   bool
}

// trial is one run to be made.
type trial struct {
	file     *File
	run      explore.Run
	coverage *explore.Coverage
	outcome  *Outcome // nil: not made, for want of time
}

// Explore carries out an exploration. When ctx ends or time is up no further run is
// started. The error says that it cannot be begun.
func (r *Registry) Explore(ctx context.Context, plan Exploration) (*Explored, error) {
	e := &explorer{registry: r, plan: &plan, start: time.Now(), sum: &Explored{Faults: map[string]int{}}}
	if plan.Faults != "" {
		var err error
		if e.faults, err = r.Override(plan.Faults); err != nil {
			return nil, err
		}
	}
	if plan.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, plan.For)
		defer cancel()
	}
	for _, file := range plan.Files {
		e.files = append(e.files, e.begin(file))
	}
	for ctx.Err() == nil && e.round(ctx) {
		if plan.Progress != nil {
			plan.Progress(e.sum)
		}
	}
	for _, f := range e.files {
		if len(plan.Search.Strategies) > 0 {
			f.Quiet = r.quiet(f, e.faults)
		}
		if search, ok := f.search.(explore.Reporter); ok {
			f.Covered = search.Covered()
		}
	}
	e.sum.Took = time.Since(e.start)
	return e.sum, nil
}

// making is how the runs of the exploration are made.
func (e *explorer) making(run *explore.Run) *making {
	m := &making{Making: Making{Faults: e.plan.Faults}, faults: e.faults}
	if run != nil {
		m.Search, m.Swarm, m.source = run.Search, run.Swarm, run.Source
		if run.Plan != "" {
			m.Faults, m.faults = run.Plan, run.Faults
		}
	}
	return m
}

// begin prepares the search of one file.
func (e *explorer) begin(file *File) *exploredFile {
	f := &exploredFile{ExploredFile: &ExploredFile{File: file, Searches: map[string]int{}, Map: explore.NewMap(), Faults: map[string]int{}}}
	f.Survey = e.registry.survey(file, e.plan.Seeds.First, e.making(nil))
	search := e.plan.Search.Fitting(func(p explore.Plan) bool { return e.plan.Faults == "" && file.suits(p) })
	f.search = explore.New(search, f.Survey, e.plan.Seeds)
	e.sum.Files = append(e.sum.Files, f.ExploredFile)
	return f
}

// suits reports whether the faults of a plan may strike in the scenario without being
// asked for: if all may go wrong in it, and the plan needs no other cluster.
func (f *File) suits(p explore.Plan) bool {
	all := (f.Faults.Profile == "stormy" || f.Faults.Profile == "swarm") && len(f.Faults.Remove) == 0
	streams := f.Cluster.WatchList == nil || *f.Cluster.WatchList // lists, which then are never old
	return all && (p.Servers <= 1 || f.Cluster.serverCount() >= p.Servers && !streams)
}

// round makes one batch of runs of each file, side by side. It returns false if there
// is nothing left to do.
func (e *explorer) round(ctx context.Context) bool {
	var trials []*trial
	for _, f := range e.files {
		f.outs = f.outs[:0]
		if f.done {
			continue
		}
		for _, run := range f.search.Next(batch) {
			t := &trial{file: f.File, run: run, coverage: explore.NewCoverage()}
			if e.plan.Search.Depth > 0 {
				t.coverage.Ordered()
			}
			f.outs = append(f.outs, t)
			trials = append(trials, t)
		}
	}
	if len(trials) == 0 {
		return false
	}
	e.makeAll(ctx, trials)
	for _, f := range e.files {
		e.learn(f)
	}
	e.sum.Took = time.Since(e.start)
	return true
}

// makeAll makes the runs on the workers.
func (e *explorer) makeAll(ctx context.Context, trials []*trial) {
	workers := e.plan.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	take := func() *trial {
		mu.Lock()
		defer mu.Unlock()
		if next == len(trials) {
			return nil
		}
		next++
		return trials[next-1]
	}
	for range min(workers, len(trials)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				t := take()
				if t == nil {
					return
				}
				e.try(t)
			}
		})
	}
	wg.Wait()
}

// try makes one run; a mistake of the simulator is an outcome that names the run.
func (e *explorer) try(t *trial) {
	defer func() {
		if p := recover(); p != nil {
			t.outcome = &Outcome{File: t.file, Seed: t.run.Seed, Result: Failed, Err: fmt.Errorf("panic in the simulator: %v\n%s", p, debug.Stack())}
		}
	}()
	m := e.making(&t.run)
	m.observe = t.coverage.Observe
	t.outcome = e.registry.make(t.file, t.run.Seed, m)
}

// learn takes in what came of a file's runs, in order, up to the one that decides
// against it.
func (e *explorer) learn(f *exploredFile) {
	var seen []explore.Seen
	var outcomes []*Outcome
	for _, t := range f.outs {
		if t.outcome == nil || f.Bad != nil {
			f.done = true
			break
		}
		newEdges, newStates := f.Map.Add(t.coverage)
		seen = append(seen, explore.Seen{Coverage: t.coverage, NewEdges: newEdges, NewStates: newStates})
		if newEdges+newStates > 0 {
			e.sum.LastNew = time.Since(e.start)
		}
		e.count(f, t)
		outcomes = append(outcomes, t.outcome)
	}
	if len(f.outs) == 0 {
		f.done = true
		return
	}
	if f.Runs == len(outcomes) || len(f.Absent) > 0 {
		f.Absent = stillAbsent(f, outcomes)
	}
	f.done = f.done || f.Bad != nil
	f.search.Learn(seen)
}

// stillAbsent names the conditions that no run so far has put to the test.
func stillAbsent(f *exploredFile, outcomes []*Outcome) []string {
	names := absent(outcomes)
	if f.Runs == len(outcomes) {
		return names
	}
	return slices.DeleteFunc(f.Absent, func(name string) bool { return !slices.Contains(names, name) })
}

// count takes in one outcome.
func (e *explorer) count(f *exploredFile, t *trial) {
	o := t.outcome
	f.Runs++
	e.sum.Runs++
	f.Searches[t.run.Search]++
	for _, kind := range o.Faults {
		f.Faults[kind]++
		e.sum.Faults[kind]++
	}
	switch {
	case o.Expected():
		f.Shown++
	case o.Result == Held:
	case o.Result == Violated && o.Property == StoryCompletes && o.foreign():
		if f.Untold++; f.Late == nil {
			f.Late = o
		}
	default:
		f.Bad = o
	}
}

// foreign reports whether the run had other faults than its scenario was written for.
func (o *Outcome) foreign() bool { return o.making != nil && (o.making.Faults != "" || o.making.Swarm) }

// quiet names the kinds of fault in the background that never struck.
func (r *Registry) quiet(f *exploredFile, override []cluster.Fault) []string {
	faults := override
	if faults == nil {
		faults = r.background(&f.File.Scenario).Faults
	}
	kinds := map[string]bool{}
	for _, fault := range faults {
		if f.Faults[fault.Kind] == 0 {
			kinds[fault.Kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
