package sim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Environment variables that steer Check without a change of the test.
const (
	// EnvSeed runs just this seed.
	EnvSeed = "SEEDBED_SEED"
	// EnvSeeds is how many seeds to run.
	EnvSeeds = "SEEDBED_SEEDS"
	// EnvReplay is the replay file to run instead of seeds.
	EnvReplay = "SEEDBED_REPLAY"
)

// Run explores the seeds of o and investigates the first failure. The error says
// that the engine itself failed: runs were not repeatable.
func Run(o Options, build Build) (*Report, error) {
	o = o.withDefaults()
	rep := explore(&o, build)
	last := rep.Results[len(rep.Results)-1]
	if last.Err == nil {
		return rep, nil
	}
	if n, ok := last.Err.(*NondeterminismError); ok { //nolint:errorlint // never wrapped here
		return rep, n
	}
	f, err := o.investigate(last.Seed, build)
	rep.Failure = f
	return rep, err
}

// Check runs build's world on many seeds and fails the test if a property
// breaks, with the story of a small run that breaks it.
//
// With SEEDBED_SEED or SEEDBED_SEEDS set in the environment it runs other seeds,
// with SEEDBED_REPLAY one recorded run.
func Check(t testing.TB, o Options, build Build) {
	t.Helper()
	if o.Name == "" {
		o.Name = t.Name()
	}
	if err := o.fromEnv(); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv(EnvReplay); path != "" {
		checkReplay(t, o, path, build)
		return
	}
	rep, err := Run(o, build)
	switch {
	case err != nil:
		t.Fatal(err)
	case rep.Failure != nil:
		t.Fatalf("%s\nrun it again: %s go test -run '^%s$'", rep.Failure, rep.Failure.again(), testPattern(t))
	}
	for _, m := range rep.Unreached {
		t.Errorf("none of %d runs reached %q: %s", rep.Runs, m.Name, m.Meaning)
	}
	t.Logf("%d runs held, %.0f simulated seconds, hash %016x", rep.Runs, rep.Simulated, rep.Hash)
}

func checkReplay(t testing.TB, o Options, path string, build Build) {
	t.Helper()
	r, err := LoadReplay(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != o.Name {
		t.Skipf("%s is a run of %s", path, r.Name)
	}
	got, err := RunReplay(o, r, build)
	for _, line := range Story(got.Records) {
		t.Log(line)
	}
	if err != nil {
		t.Error(err)
	}
	if got.Err != nil {
		t.Fatal(got.Err)
	}
}

// fromEnv lets the environment replace which seeds are run.
func (o *Options) fromEnv() error {
	if s := os.Getenv(EnvSeeds); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil || n == 0 {
			return fmt.Errorf("%s=%q is not a number of seeds", EnvSeeds, s)
		}
		o.Seeds = n
	}
	if s := os.Getenv(EnvSeed); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return fmt.Errorf("%s=%q is not a seed", EnvSeed, s)
		}
		o.First, o.Seeds = n, 1
	}
	return nil
}

// again is the setting that repeats the failure: the small run if it was written,
// else the run as it was found.
func (f *Failure) again() string {
	if f.Replay != "" {
		return EnvReplay + "=" + f.Replay
	}
	return fmt.Sprintf("%s=%d", EnvSeed, f.First.Seed)
}

// testPattern is the test's name as -run wants it.
func testPattern(t testing.TB) string { return strings.ReplaceAll(t.Name(), "/", "$/^") }

// Fuzz makes one run whose choices are the bytes of a native fuzz target, so
// that the fuzzer's coverage guides the exploration:
//
//	func FuzzCluster(f *testing.F) {
//		f.Fuzz(func(t *testing.T, data []byte) { sim.Fuzz(t, data, options, build) })
//	}
func Fuzz(t testing.TB, data []byte, o Options, build Build) {
	t.Helper()
	if o.Name == "" {
		o.Name = t.Name()
	}
	CheckSource(t, engine.NewBytes(data), o, build)
}

// CheckSource makes one run whose choices come from src. A failure is shrunk and
// told as in Check.
func CheckSource(t testing.TB, src engine.Source, o Options, build Build) {
	t.Helper()
	o = o.withDefaults()
	r := once(&o, build, how{source: src, record: true})
	if r.Err == nil {
		return
	}
	f, err := o.reduce(r, build)
	if err != nil {
		t.Fatal(err)
	}
	t.Fatal(f)
}
