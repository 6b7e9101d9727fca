package sim

import (
	"os"
	"path/filepath"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Options says what cluster a check runs in and how hard it looks. The zero
// value is a calm cluster without nodes, 100 seeds of ten virtual minutes.
type Options struct {
	// Name of the check; Check takes that of the test.
	Name string

	// Cluster is its shape. In it, Engine.Source, Record and Trace are set here, and
	// Engine.Strict wherever it is cheap, so that a go statement in code under
	// test is noticed. Engine.Stall, a minute unless set, is the real time after
	// which a task that does not yield ends the program with status 3 and a
	// message that names the check and the seed, unless Engine.OnStall does
	// otherwise; negative means that nobody looks. Engine.Patience, six minutes
	// unless set, is how long in virtual time and without faults a task may wait
	// for an answer, a lock or another task; negative means for ever.
	Cluster cluster.Config

	// Around, if it is not nil, is given each run, to make it where it can be made,
	// with what lets the time of the world pass in place of its own Run.
	Around func(run func(drive func(*World) engine.Result))

	// Horizon is the virtual length of a run; zero means ten minutes.
	Horizon time.Duration

	// First and Seeds are the seeds to run: First, First+1, …; zero seeds means
	// 100.
	First, Seeds uint64

	// Twice is how many of the seeds run a second time to see that their hashes
	// agree; zero means three, negative none.
	Twice int

	// Workers run seeds side by side; zero means one per processor. The result
	// does not depend on it.
	Workers int

	// Shrink bounds the search for a smaller history once a run has failed.
	Shrink Budget

	// Artifacts is the directory for replay files; empty means "seedbed" in the
	// system's directory for temporary files, NoArtifacts that none are written.
	Artifacts string

	// Again, if set, returns the command that repeats a run from its replay file, for
	// the page that shows it. Nil stands for the environment variable that Check reads.
	Again func(replay string) string

	// Progress, if set, is called after each run with the number of runs done. The
	// workers call it at the same time, on their own goroutines, so that numbers may
	// come out of order.
	Progress func(done, all uint64)
}

// Budget bounds shrinking; zero values mean 500 runs and ten seconds. Runs
// negative switches shrinking off.
type Budget struct {
	Runs int
	Time time.Duration
}

// NoArtifacts is the value of Options.Artifacts that writes no files.
const NoArtifacts = "-"

const (
	defaultHorizon = 10 * time.Minute
	defaultSeeds   = 100
	defaultTwice   = 3
)

func (o Options) withDefaults() Options {
	if o.Horizon <= 0 {
		o.Horizon = defaultHorizon
	}
	if o.Seeds == 0 {
		o.Seeds = defaultSeeds
	}
	switch {
	case o.Twice == 0:
		o.Twice = defaultTwice
	case o.Twice < 0:
		o.Twice = 0
	}
	if o.Artifacts == "" {
		o.Artifacts = filepath.Join(os.TempDir(), "seedbed")
	}
	if o.Cluster.API.Definitions == nil {
		o.Cluster.API.Definitions = &crd.Cache{} // of all runs
	}
	if o.Shrink.Runs == 0 {
		o.Shrink.Runs = 500
	}
	if o.Shrink.Time <= 0 {
		o.Shrink.Time = 10 * time.Second
	}
	return o
}
