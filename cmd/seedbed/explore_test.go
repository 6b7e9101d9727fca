package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lasting hides what differs from one machine to the next.
func lasting(text string) string {
	text = regexp.MustCompile(` in [0-9.]+m?s, [0-9,]+/s;`).ReplaceAllString(text, " in TIME, RATE;")
	return regexp.MustCompile(`after [0-9.]+m?s`).ReplaceAllString(text, "after TIME")
}

func TestExploreFindsShrinksAndKeepsWhatBreaks(t *testing.T) {
	folder, kept := t.TempDir(), filepath.Join(t.TempDir(), "regressions")
	got := seedbed(t, "explore", "testdata/breaks.yaml", "--seeds", "8", "--replays", folder, "--save-to", kept, "--shrink", "2s")
	got.wants(t, exitViolated,
		"strategies  each seed picks one of pos-conflicts, ",
		"FAIL   breaks        1  seed 0 violates mirror.no-orphans (",
		"FAIL breaks, seed 0: mirror.no-orphans\n",
		"copies without an original: 1",
		"  history  shrunk from ",
		"  kept     "+filepath.Join(kept, "breaks-seed0.replay.json"))

	again := seedbed(t, "run", kept)
	again.wants(t, exitViolated, "1 replay file, kept as regressions\n", "FAIL   breaks-seed0.replay.json  violates mirror.no-orphans again: not within 1m\n", "copies without an original: 1")

	// Whoever mends the controller sees that the history holds.
	path := filepath.Join(kept, "breaks-seed0.replay.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "forgetful: true", "forgetful: false", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	seedbed(t, "run", kept).wants(t, exitOK, "ok     breaks-seed0.replay.json  held; the program has changed since it was kept\n")
	seedbed(t, "run", "testdata/holds.yaml", path).wants(t, exitOK, "ok     holds", "held; the program has changed")
}

func TestAReplayCarriesTheFaultsAndTheSwarmThatFoundIt(t *testing.T) {
	folder := t.TempDir()
	got := seedbed(t, "explore", "testdata/hasty.yaml", "--faults", "api-error-500,api-error-409,api-latency", "--strategy", "swarm+pct-conflicts",
		"--seeds", "400", "--replays", folder, "--shrink", "2s")
	got.wants(t, exitViolated, "violates mirror.copies-equal-originals", "faults      api-error-500,api-error-409,api-latency, in place of those of the\n", "  bound                pct finds")
	found, err := filepath.Glob(filepath.Join(folder, "*.replay.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"search": "swarm+pct-conflicts"`, `"faults": "api-error-500,api-error-409,api-latency"`, `"swarm": true`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the replay file does not say %s", part)
		}
	}
	seedbed(t, "replay", found[0]).wants(t, exitViolated, "violates mirror.copies-equal-originals", "FAULT api-error-")
}

// What is found, and what is reported, does not depend on the workers; the shards of a
// search together make its runs.
func TestExploreRepeats(t *testing.T) {
	explore := func(more ...string) string {
		return lasting(seedbed(t, append([]string{"explore", "holds", "--seeds", "70", "--faults", "stormy"}, more...)...).out)
	}
	one, three := explore("--workers", "1"), explore("--workers", "3")
	if diff := cmp.Diff(one, three); diff != "" {
		t.Error(diff)
	}
	for i, want := range map[string]string{"1/3": "24", "2/3": "23", "3/3": "23"} {
		shard := explore("--shard", i, "--workers", "2")
		if !strings.Contains(shard, "\n"+want+" runs in TIME") {
			t.Errorf("shard %s does not make %s runs:\n%s", i, want, shard)
		}
		if shard != explore("--shard", i, "--workers", "1") {
			t.Errorf("shard %s differs", i)
		}
	}
}

func TestExploreTellsWhatWasExercisedAndWhatNeverWas(t *testing.T) {
	seedbed(t, "explore", "holds", "--seeds", "40", "--faults", "watch-lag,node-crash").wants(t, exitOK,
		"ok     holds        40  held\n", "distinct states", " edges; last new coverage after ", "  runs by strategy     pct-conflicts ", "  faults that struck   watch-lag ",
		"  faults that never    holds (node-crash)\n")
}

// The faults of others make a story wait for longer than it was written for; that is no
// bug of what runs.
func TestForeignFaultsMayCutAStoryShort(t *testing.T) {
	seedbed(t, "explore", "testdata/patient.yaml", "--seeds", "30", "--faults", "apiserver-restart,api-latency,watch-stale").wants(t, exitOK,
		"ok     patient      30  held\n", "  story cut short      patient (", "not counted as violations")
}

func TestExploreEndsInTime(t *testing.T) {
	start := time.Now()
	seedbed(t, "explore", "holds", "--for", "300ms").wants(t, exitOK, "ok     holds")
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	seedbedIn(ctx, "explore", "holds", "--for", "1h").wants(t, exitInterrupted, "interrupted after 0 runs")
}

func TestExploreRefusesWhatMakesNoSense(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--for", "-1s"}, `seedbed: --for -1s: write for how long to explore, such as 60s`},
		{[]string{"--seeds", "0"}, `seedbed: --seeds 0: write how many seeds to run, 1 or more`},
		{[]string{"--workers", "0"}, `seedbed: --workers 0: write how many runs go side by side, 1 or more`},
		{[]string{"--shard", "3/2"}, `seedbed: --shard "3/2": write which part of how many, such as 2/5`},
		{[]string{"--shard", "2"}, `seedbed: --shard "2": write which part of how many, such as 2/5`},
		{[]string{"--strategy", "swarm+pst"}, `seedbed: --strategy: there is no strategy "swarm+pst"`},
		{[]string{"--strategy", "unifrm"}, `seedbed: --strategy: there is no strategy "unifrm"; did you mean "uniform"? The strategies are mix, swarm, `},
		{[]string{"--faults", "stomy"}, `seedbed: --faults: "stomy" is neither a profile (calm, stormy, swarm, races) nor a kind of fault; did you mean "stormy"?`},
		{[]string{"--first-seed", "18446744073709551615", "--seeds", "2"}, `seedbed: --first-seed 18446744073709551615: there are no 2 seeds`},
		{[]string{"nowhere.yaml"}, `seedbed: nowhere.yaml does not exist; give a scenario file`},
	}
	for _, test := range tests {
		got := seedbed(t, append([]string{"explore"}, test.args...)...)
		if got.code != exitBadInput || got.out != "" || !strings.HasPrefix(got.err, test.want) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%v: exit code %d\ngot  %s%s\nwant %s", test.args, got.code, got.out, got.err, test.want)
		}
	}
}

// A systematic search goes through every place where its trouble could strike, and says
// so.
func TestSystematicSearchesCoverEveryPlace(t *testing.T) {
	got := seedbed(t, "explore", "holds", "--strategy", "crash,stale,missed,travel", "--seeds", "2")
	got.wants(t, exitOK, "systematic  crash, stale, missed, travel\n", "ok     holds")
	flat := strings.Join(strings.Fields(got.out), " ")
	runs := 8
	for _, name := range []string{"crash", "stale", "missed", "travel"} {
		m := regexp.MustCompile(name + `: (\d+) of (\d+) places in 2 reference runs`).FindStringSubmatch(flat)
		if m == nil || m[1] != m[2] || m[1] == "0" {
			t.Fatalf("%s: %v\n%s", name, m, got.out)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		runs += n
	}
	for _, part := range []string{fmt.Sprintf("%d runs in ", runs), "process-crash", "watch-gap", "time-travel", "watch-overtaken"} {
		if !strings.Contains(flat, part) {
			t.Errorf("%q is not said\n%s", part, got.out)
		}
	}
}

func TestWhatASystematicSearchFindsIsReplayed(t *testing.T) {
	folder := t.TempDir()
	got := seedbed(t, "explore", "testdata/steady.yaml", "--strategy", "crash", "--seeds", "1", "--replays", folder, "--shrink", "1s", "--workers", "2")
	got.wants(t, exitViolated, "seed 0 violates one-life (crash)", "FAULT process-crash: it crashes before it sends create\n", "steady: crash: 1 of 2 places in 1 reference run\n")
	seedbed(t, "replay", filepath.Join(folder, "steady-seed0.replay.json")).wants(t, exitViolated, "violates one-life")
	if again := seedbed(t, "explore", "testdata/steady.yaml", "--strategy", "crash", "--seeds", "1", "--replays", folder, "--shrink", "1s", "--workers", "1"); lasting(again.out) != lasting(got.out) {
		t.Errorf("with one worker:\n%s", cmp.Diff(lasting(got.out), lasting(again.out)))
	}
}

// An exhaustive search says when it has made all histories within its bound, and makes
// the same on any number of workers; a bound that is too low for a bug does not find it.
func TestExhaustiveSearchSaysWhenItHasMadeAll(t *testing.T) {
	explore := func(file string, more ...string) result {
		return seedbed(t, append([]string{"explore", file, "--replays", t.TempDir(), "--seeds", "1", "--shrink", "1s"}, more...)...)
	}
	one := explore("testdata/steady.yaml", "--strategy", "exhaustive-2", "--workers", "1")
	one.wants(t, exitOK, "steady: exhaustive: all ", " histories up to depth 2 (")
	if two := explore("testdata/steady.yaml", "--strategy", "exhaustive", "--workers", "2"); lasting(one.out) != lasting(two.out) {
		t.Error(cmp.Diff(lasting(one.out), lasting(two.out)))
	}
	explore("testdata/steady.yaml", "--strategy", "exhaustive-1", "--faults", "process-crash").wants(t, exitViolated, "violates one-life (exhaustive)")
	explore("testdata/twice.yaml", "--strategy", "exhaustive-1", "--faults", "process-crash").wants(t, exitOK, "twice: exhaustive: all ", "up to depth 1")
	explore("testdata/twice.yaml", "--strategy", "exhaustive-2", "--faults", "process-crash").wants(t, exitViolated, "violates two-lives (exhaustive)")
	explore("testdata/steady.yaml", "--strategy", "exhaustive-0").wants(t, exitBadInput, `there is no strategy "exhaustive-0"`)
}

// A search that coverage guides keeps what has shown something new, and finds the same
// on any number of workers.
func TestGuidedSearchRepeats(t *testing.T) {
	folder := t.TempDir()
	explore := func(more ...string) result {
		return seedbed(t, append([]string{"explore", "testdata/twice.yaml", "--strategy", "guided", "--seeds", "2000", "--replays", folder, "--shrink", "1s", "--faults", "process-crash"}, more...)...)
	}
	one := explore("--workers", "1")
	one.wants(t, exitViolated, "violates two-lives (guided)", "twice: guided: ", " runs kept that have shown new edges or\n")
	if three := explore("--workers", "3"); lasting(one.out) != lasting(three.out) {
		t.Error(cmp.Diff(lasting(one.out), lasting(three.out)))
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.replay.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	seedbed(t, "replay", found[0]).wants(t, exitViolated, "violates two-lives")
}

// TestExploreTellsMachines: JUnit's report has the story, and GitHub is told where GitHub
// runs it.
func TestExploreTellsMachines(t *testing.T) {
	junit := filepath.Join(t.TempDir(), "junit.xml")
	t.Setenv("GITHUB_ACTIONS", "true")
	const said = "::error file=testdata/breaks.yaml,line=1,title=breaks::seed 0 violates mirror.no-orphans: not within 1m after the story was told and faults had ceased: copies"
	got := seedbed(t, "explore", "testdata/breaks.yaml", "holds", "--seeds", "4", "--replays", t.TempDir(), "--shrink", "0s", "--junit", junit)
	got.wants(t, exitViolated, said)
	text, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`tests="2" failures="1" errors="0"`, `<failure message="violates mirror.no-orphans at seed 0: `, "copies without an original: 1", "deletes ConfigMap originals/a"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the report does not say %s:\n%s", part, text)
		}
	}
	seedbed(t, "run", "testdata/breaks.yaml", "--seeds", "1", "--replays", t.TempDir(), "--shrink", "0s").wants(t, exitViolated, said)
	seedbed(t, "run", "testdata/breaks.yaml", "--seeds", "1", "--replays", t.TempDir(), "--shrink", "0s", "-o", "json").wants(t, exitViolated)
	t.Setenv("GITHUB_ACTIONS", "")
	if quiet := seedbed(t, "explore", "testdata/breaks.yaml", "--seeds", "4", "--replays", t.TempDir(), "--shrink", "0s"); strings.Contains(quiet.out, "::error") {
		t.Error("GitHub is told though it is not there")
	}
}
