package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seedbed-sim/seedbed/sim"
	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// fakeT is a testing.TB that writes down what a check makes of its test.
type fakeT struct {
	testing.TB
	fatal  string
	errors []string
	logs   []string
	skip   bool
}

type fatality struct{}

func (t *fakeT) Helper()      {}
func (t *fakeT) Name() string { return "TestFake" }
func (t *fakeT) Fatal(args ...any) {
	t.fatal = fmt.Sprint(args...)
	panic(fatality{})
}
func (t *fakeT) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }
func (t *fakeT) Error(args ...any)                 { t.errors = append(t.errors, fmt.Sprint(args...)) }
func (t *fakeT) Errorf(format string, args ...any) { t.Error(fmt.Sprintf(format, args...)) }
func (t *fakeT) Log(args ...any)                   { t.logs = append(t.logs, fmt.Sprint(args...)) }
func (t *fakeT) Logf(format string, args ...any)   { t.Log(fmt.Sprintf(format, args...)) }
func (t *fakeT) Skipf(string, ...any)              { t.skip = true; panic(fatality{}) }

// check runs sim.Check as a test would.
func check(o sim.Options, build sim.Build) (t *fakeT) {
	t = &fakeT{}
	defer func() {
		if r := recover(); r != nil && r != any(fatality{}) {
			panic(r)
		}
	}()
	sim.Check(t, o, build)
	return t
}

// tick is a world in which something ticks once per second.
func tick(w *sim.World) *int {
	n := new(int)
	w.Every(time.Second, func() { *n++; w.Engine().Touch() })
	return n
}

func small() sim.Options {
	return sim.Options{Seeds: 3, Horizon: 10 * time.Second, Artifacts: sim.NoArtifacts}
}

// TestProperties is one sentence about each kind of property.
func TestProperties(t *testing.T) {
	tests := []struct {
		name  string
		cease time.Duration
		build sim.Build
		want  string // of the error; empty: held
	}{
		{
			name: "always: holds at every moment",
			build: func(w *sim.World) {
				n := tick(w)
				w.Always("few", "", func() error {
					if *n >= 3 {
						return fmt.Errorf("%d ticks", *n)
					}
					return nil
				})
			},
			want: `property "few" broken: 3 ticks`,
		},
		{
			name: "never: the event is told",
			build: func(w *sim.World) {
				n := tick(w)
				w.Never("five", "", func() bool { return *n == 5 })
			},
			want: `property "five" broken: it happened`,
		},
		{
			name: "eventually: in time",
			build: func(w *sim.World) {
				n := tick(w)
				w.Eventually("three", "", 3500*time.Millisecond, func() error { return atLeast(*n, 3) })
			},
		},
		{
			name: "eventually: too late",
			build: func(w *sim.World) {
				n := tick(w)
				w.Eventually("three", "", 2500*time.Millisecond, func() error { return atLeast(*n, 3) })
			},
			want: `property "three" broken: not within 2.5s: 2 ticks`,
		},
		{
			name:  "eventually: counts from when faults cease",
			cease: 4 * time.Second,
			build: func(w *sim.World) {
				n := tick(w)
				w.Eventually("five", "", 2*time.Second, func() error { return atLeast(*n, 5) })
			},
		},
		{
			name:  "eventually: what held before faults ceased does not count",
			cease: 4 * time.Second,
			build: func(w *sim.World) {
				n := tick(w)
				w.Eventually("one", "", 2*time.Second, func() error {
					if *n == 1 {
						return nil
					}
					return errors.New("not one")
				})
			},
			want: `property "one" broken: not within 2s: not one`,
		},
		{
			name: "eventually: the end of the run comes first",
			build: func(w *sim.World) {
				n := tick(w)
				w.Eventually("many", "", time.Hour, func() error { return atLeast(*n, 100) })
			},
			want: `the world's script failed: property "many" can be judged after 1h0m0s, but the run ends after 10s`,
		},
		{
			name: "finally: at the end only",
			build: func(w *sim.World) {
				n := tick(w)
				w.Finally("ten", "", func() error { return atLeast(*n, 10) })
			},
		},
		{
			name: "finally: not",
			build: func(w *sim.World) {
				n := tick(w)
				w.Finally("eleven", "", func() error { return atLeast(*n, 11) })
			},
			want: `property "eleven" broken: 10 ticks`,
		},
		{
			name:  "the script of the world fails",
			build: func(w *sim.World) { w.At(time.Second, func() { w.Must(errors.New("no such file")) }) },
			want:  "the world's script failed: no such file",
		},
		{
			name:  "the build function fails",
			build: func(w *sim.World) { w.Must(errors.New("no such file")) },
			want:  "the world's script failed: no such file",
		},
		{
			name: "code under test panics",
			build: func(w *sim.World) {
				w.ControlPlane().Process(cluster.ProcessSpec{
					Name: "p",
					Main: func(context.Context, *cluster.Env) { panic("at the disco") },
				})
			},
			want: "task p#1/main.1: panic: at the disco",
		},
		{
			name: "code under test hangs without virtual time moving",
			build: func(w *sim.World) {
				w.ControlPlane().Process(cluster.ProcessSpec{Name: "p", Main: func(ctx context.Context, env *cluster.Env) {
					for ctx.Err() == nil {
						_ = env.Clock.Sleep(ctx, 0)
					}
				}})
			},
			want: "livelock: 1000000 steps at 0s without virtual time moving; busiest is task p#1/main.1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := small()
			o.Cluster.Profile.CeaseAt = tt.cease
			got := ""
			if err := sim.RunSeed(o, 1, tt.build).Err; err != nil {
				got = err.Error()
			}
			if got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("the run ends with %q, want %q", got, tt.want)
			}
		})
	}
}

func atLeast(n, want int) error {
	if n < want {
		return fmt.Errorf("%d ticks", n)
	}
	return nil
}

func TestCheckReportsWhatWasNeverReached(t *testing.T) {
	got := check(small(), func(w *sim.World) {
		n := tick(w)
		w.Sometimes("five ticks", "otherwise the run is too short", func() bool { return *n == 5 })
		w.Sometimes("fifty ticks", "otherwise the run is too short", func() bool { return *n == 50 })
		w.Reached("the branch", "it is what the test is about")
		w.Reached("the other branch", "it is what the test is about")()
	})
	want := []string{
		`none of 3 runs reached "fifty ticks": otherwise the run is too short`,
		`none of 3 runs reached "the branch": it is what the test is about`,
	}
	if diff := cmp.Diff(want, got.errors); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// TestFailureReplays is the way of a bug report: a check fails and writes a file,
// somebody else runs the file and sees the same run.
func TestFailureReplays(t *testing.T) {
	o := small()
	o.Cluster = cluster.Config{Nodes: 2, Profile: sim.Stormy().Until(30 * time.Second)}
	o.Horizon, o.Seeds, o.Artifacts = time.Minute, 50, t.TempDir()
	build := func(w *sim.World) {
		tick(w)
		w.Never("node-2 down", "somebody would have to get up", func() bool { return w.Node("node-2").Down() })
	}
	failed := check(o, build)
	path := filepath.Join(o.Artifacts, "TestFake-seed")
	if !strings.Contains(failed.fatal, "property broken: node-2 down") || !strings.Contains(failed.fatal, path) {
		t.Fatalf("the message is\n%s", failed.fatal)
	}
	files, err := filepath.Glob(path + "*.replay.json")
	if err != nil || len(files) != 1 {
		t.Fatalf("replay files: %v %v", files, err)
	}
	r, err := sim.LoadReplay(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Schedule.Picks); n > 4 {
		t.Errorf("a node crash takes four choices at most, the file has %d: %v", n, r.Schedule.Picks)
	}
	t.Setenv(sim.EnvReplay, files[0])
	again := check(o, build)
	if want := `property "node-2 down" broken: it happened`; again.fatal != want {
		t.Errorf("the replay says %q, want %q", again.fatal, want)
	}
	if len(again.errors) > 0 {
		t.Errorf("the replay finds fault: %v", again.errors)
	}
	changed := check(o, func(w *sim.World) { w.At(time.Second, func() { w.Story("a new feature") }); build(w) })
	if len(changed.errors) != 1 || !strings.Contains(changed.errors[0], "the program is not the one that was recorded") {
		t.Errorf("a replay with another program says %v", changed.errors)
	}
	o.Name = "another"
	if other := check(o, build); !other.skip {
		t.Error("a replay of another test is not skipped")
	}
}

// TestShrinkingKeepsThePanic has a bug that needs a choice of its own behind
// another one that a simpler history shows.
func TestShrinkingKeepsThePanic(t *testing.T) {
	panics := func(w *sim.World, name string, value any) {
		w.ControlPlane().Process(cluster.ProcessSpec{Name: name, Main: func(context.Context, *cluster.Env) { panic(value) }})
	}
	tests := []struct {
		name         string
		simple, rare func(w *sim.World)
		want         string
	}{
		{
			"another value",
			func(w *sim.World) { panics(w, "p", "nil map after 3 tries") },
			func(w *sim.World) { panics(w, "p", fmt.Sprintf("index %d out of range", 4+w.Choose("index", 5))) },
			"task p#1/main.1: panic: index 4 out of range",
		},
		{
			"another task",
			func(w *sim.World) { panics(w, "p", "no route") },
			func(w *sim.World) { panics(w, "q", "no route") },
			"task q#1/main.1: panic: no route",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			build := func(w *sim.World) {
				switch w.Choose("bug", 3) {
				case 0:
				case 1:
					tt.simple(w)
				default:
					tt.rare(w)
				}
			}
			o := small()
			for ; ; o.First++ {
				if err := sim.RunSeed(o, o.First, build).Err; err != nil && !strings.Contains(err.Error(), "tries") && !strings.Contains(err.Error(), "p#1/main.1: panic: no") {
					break
				}
			}
			o.Seeds = 1
			rep, err := sim.Run(o, build)
			if err != nil || rep.Failure.Small.Err.Error() != tt.want {
				t.Errorf("the small run ends with %v (%v), want %s", rep.Failure.Small.Err, err, tt.want)
			}
		})
	}
}

// TestHowToRunAFailureAgain follows the last line of the message.
func TestHowToRunAFailureAgain(t *testing.T) {
	build := func(w *sim.World) {
		tick(w)
		if w.Choose("bug", 4) == 3 {
			w.Never("a tick", "", func() bool { return w.Engine().Elapsed() > 0 })
		}
	}
	o := small()
	o.Seeds = 100
	line := func(message string) string { return message[strings.LastIndexByte(message, '\n')+1:] }
	setting, rest, _ := strings.Cut(strings.TrimPrefix(line(check(o, build).fatal), "run it again: "), " ")
	name, seed, _ := strings.Cut(setting, "=")
	if name != sim.EnvSeed || rest != "go test -run '^TestFake$'" {
		t.Errorf("without replay files: %s %s", setting, rest)
	}
	t.Run("by seed", func(t *testing.T) {
		t.Setenv(name, seed)
		if again := check(o, build); !strings.Contains(again.fatal, "found at seed "+seed) {
			t.Errorf("%s says %s", setting, again.fatal)
		}
	})
	o.Artifacts = t.TempDir()
	setting, _, _ = strings.Cut(strings.TrimPrefix(line(check(o, build).fatal), "run it again: "), " ")
	if !strings.HasPrefix(setting, sim.EnvReplay+"="+o.Artifacts) {
		t.Errorf("with replay files: %s", setting)
	}
}

func TestReplayFilesAreChecked(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"garbage": "{", "future": `{"version": 99}`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sim.LoadReplay(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := sim.LoadReplay(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestEnvironmentChoosesSeeds(t *testing.T) {
	seeds := func() (got []uint64) {
		o := small()
		o.Twice, o.Workers = -1, 1
		check(o, func(w *sim.World) { got = append(got, w.Seed()) })
		return got
	}
	if diff := cmp.Diff([]uint64{0, 1, 2}, seeds()); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
	t.Setenv(sim.EnvSeeds, "2")
	if diff := cmp.Diff([]uint64{0, 1}, seeds()); diff != "" {
		t.Errorf("with %s (-want +got):\n%s", sim.EnvSeeds, diff)
	}
	t.Setenv(sim.EnvSeed, "77")
	if diff := cmp.Diff([]uint64{77}, seeds()); diff != "" {
		t.Errorf("with %s (-want +got):\n%s", sim.EnvSeed, diff)
	}
	t.Setenv(sim.EnvSeed, "x")
	if got := check(small(), func(*sim.World) {}); !strings.Contains(got.fatal, `SEEDBED_SEED="x" is not a seed`) {
		t.Errorf("a bad seed gives %q", got.fatal)
	}
}

func TestNondeterminismIsFound(t *testing.T) {
	o := small()
	_, err := sim.Run(o, func(w *sim.World) {
		w.At(time.Second, func() { w.Story("%d", rand.Uint64()) })
	})
	var found *sim.NondeterminismError
	if !errors.As(err, &found) || !strings.Contains(err.Error(), "seed 0 gave two different runs") {
		t.Errorf("the error is %v", err)
	}
}

// TestWhereRunsPart: the first step that differs is named, with what that is likely due
// to.
func TestWhereRunsPart(t *testing.T) {
	read := func(ctx context.Context, env *cluster.Env, name string) {
		_ = env.Kube.Get(ctx, types.NamespacedName{Namespace: "default", Name: name}, configMap(name, nil, nil))
	}
	kept := 0
	for what, c := range map[string]struct {
		main  func(ctx context.Context, env *cluster.Env)
		parts []string
	}{
		"a map": {func(ctx context.Context, env *cluster.Env) {
			for range 20 { // often enough that two runs do differ
				for name := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true, "f": true} {
					read(ctx, env, name)
				}
			}
		}, []string{"p api get configmaps/default/", ", and then p api get configmaps/default/", "come in another order: look for iteration over a map"}},
		"the clock on the wall": {func(ctx context.Context, env *cluster.Env) {
			_ = env.Clock.Sleep(ctx, time.Second+time.Duration(time.Now().UnixNano()%1_000_000_000))
			read(ctx, env, "a")
		}, []string{"comes at another time: look for time.Now"}},
		"a random name": {func(ctx context.Context, env *cluster.Env) {
			read(ctx, env, fmt.Sprint("a-", rand.Uint64()))
		}, []string{"is done to another object: look for a name that is made of time.Now, of a global random generator"}},
		"memory": {func(ctx context.Context, env *cluster.Env) {
			kept++
			for range kept {
				read(ctx, env, "a")
			}
		}, []string{"memory kept from one run to the next"}},
	} {
		err := sim.VerifySeed(small(), 1, alone(func(ctx context.Context, env *cluster.Env) {
			c.main(ctx, env)
			_ = env.Clock.Sleep(ctx, time.Hour)
		})).Err
		var found *sim.NondeterminismError
		if !errors.As(err, &found) || found.Place == nil || found.Place.Step == 0 {
			t.Errorf("%s: the error is %v", what, err)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not said: %v", what, part, err)
			}
		}
	}
}

// TestNondeterministicContentIsFound writes an object whose text depends on the
// order of a map, which changes nothing else about the run.
func TestNondeterministicContentIsFound(t *testing.T) {
	calls := 0
	build := func(w *sim.World) {
		calls++
		w.Create(configMap("same", nil, map[string]string{"text": "always"}))
		text := fmt.Sprint(calls)
		alone(func(ctx context.Context, env *cluster.Env) {
			w.Must(env.Kube.Create(ctx, configMap("a", nil, map[string]string{"text": text})))
			_ = env.Clock.Sleep(ctx, time.Hour)
		})(w)
	}
	if a, b := sim.RunSeed(small(), 1, build), sim.RunSeed(small(), 1, build); a.Hash != b.Hash {
		t.Errorf("content is part of the hash: %016x and %016x", a.Hash, b.Hash)
	}
	const want = "seed 1 gave two different runs (write 2, create of configmaps/default/a by p, stored different content)"
	if err := sim.VerifySeed(small(), 1, build).Err; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if _, err := sim.Run(small(), build); err == nil || !strings.Contains(err.Error(), "stored different content") {
		t.Errorf("Run says %v", err)
	}
}

func TestTheFirstFailingSeedIsReported(t *testing.T) {
	build := func(w *sim.World) {
		w.At(time.Second, func() { w.Engine().Touch() })
		if c := w.Choose("bad", 10); c == 9 {
			w.Always("good", "", func() error { return errors.New("bad") })
		}
	}
	first := uint64(0)
	for ; sim.RunSeed(small(), first, build).Err == nil; first++ {
	}
	for _, workers := range []int{1, 2, 8} {
		o := small()
		o.Seeds, o.Workers = 1000, workers
		rep, err := sim.Run(o, build)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Failure == nil || rep.Failure.First.Seed != first || rep.Runs != first+1 {
			t.Errorf("%d workers: %d runs, failure %v; seed %d fails first", workers, rep.Runs, rep.Failure, first)
		}
	}
}

func TestRunsOfSourcesOtherThanSeeds(t *testing.T) {
	o := small()
	calm := sim.RunSource(o, engine.NewReplay(engine.Schedule{}), func(w *sim.World) { tick(w) })
	none := sim.RunSource(o, engine.NewBytes(nil), func(w *sim.World) { tick(w) })
	if calm.Err != nil || none.Err != nil || calm.Hash != none.Hash {
		t.Errorf("the run without choices is %+v by replay and %+v by bytes", calm, none)
	}
}
