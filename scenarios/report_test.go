package scenarios_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/sim/engine"
)

// verdicts are one of each kind, with numbers that no simulator can change.
func verdicts(t *testing.T) []scenarios.Verdict {
	t.Helper()
	r := registry(t)
	file := func(name, expect string) *scenarios.File {
		f := parse(t, r, "systems: {mirror: }\nproperties:\n- mirror.*\n- {name: few, why: So., always: 'true'}\n"+expect)
		f.Metadata.Name, f.Path = name, "folder/"+name+".yaml"
		return f
	}
	base := scenarios.Verdict{Runs: 1500, Steps: 2_000_000, Simulated: 26 * time.Hour, Faults: []string{"node-crash"}}
	made := func(f *scenarios.File, change func(*scenarios.Verdict)) scenarios.Verdict {
		v := base
		v.File = f
		change(&v)
		return v
	}
	return []scenarios.Verdict{
		made(file("holds", ""), func(*scenarios.Verdict) {}),
		made(file("shows", "expect: {violates: mirror.no-orphans}"), func(v *scenarios.Verdict) { v.Shown = 3 }),
		made(file("breaks", ""), func(v *scenarios.Verdict) {
			v.Bad = &scenarios.Outcome{File: v.File, Seed: 7, Result: scenarios.Violated, Property: "mirror.no-orphans", Found: "an orphan"}
		}),
		made(file("hides", "expect: {violates: mirror.no-orphans}"), func(v *scenarios.Verdict) { v.Err = scenarios.ErrNotShown }),
		made(file("errs", ""), func(v *scenarios.Verdict) {
			v.Err = errors.New("deadlock")
			v.Bad = &scenarios.Outcome{File: v.File, Seed: 8, Result: scenarios.Failed, Err: v.Err}
		}),
	}
}

func TestReportOfRuns(t *testing.T) {
	var got strings.Builder
	style := scenarios.Style{Names: 10}
	got.WriteString(style.Header())
	all := verdicts(t)
	for i := range all {
		got.WriteString(style.Verdict(&all[i]))
	}
	got.WriteString(style.Trouble(&all[3]))
	got.WriteString(style.Trouble(&all[4]))
	got.WriteString(style.Summary(scenarios.Summarise(all)))
	style.Verbose = true
	got.WriteString("\nWith names:\n" + style.Summary(scenarios.Summarise(all)))
	golden(t, "testdata/report.golden.txt", got.String())
}

func TestReportOfAFailure(t *testing.T) {
	bad := verdicts(t)[2].Bad
	bad.Meaning, bad.At = "Nobody may read what was deleted.", 95*time.Second
	f := &scenarios.Failure{
		Outcome: bad, Tries: 12, Replay: "x.replay.json",
		Original: engine.Schedule{Picks: make([]engine.Pick, 40), Blocks: make([]engine.Block, 9)},
		Small:    engine.Schedule{Picks: make([]engine.Pick, 1), Blocks: make([]engine.Block, 2)},
	}
	say := func(at time.Duration, kind, actor, detail string) {
		f.Records = append(f.Records, engine.Record{At: at, Kind: kind, Actor: actor, Detail: detail})
	}
	say(0, "proc", "node-1/agent", "starts")
	say(0, "step", "node-1/agent", "")
	say(time.Second, "sys", "node-1/agent", "says the same")
	say(2*time.Second, "sys", "node-1/agent", "says the same")
	say(3*time.Second, "story", "story", strings.Repeat("a long story ", 10))
	for i := range 80 {
		say(time.Minute+time.Duration(i)*time.Millisecond, "api", "an-actor-with-a-very-long-name", strings.Repeat("x", i%5+1))
	}
	say(95*time.Second, "prop", "mirror.no-orphans", "property broken: mirror.no-orphans: an orphan")
	style := scenarios.Style{}
	golden(t, "testdata/failure.golden.txt", style.Failure(f, "seedbed replay x.replay.json"))
	if text := style.Replay(f); strings.Contains(text, "more; the replay") || !strings.Contains(text, "violates mirror.no-orphans") {
		t.Error(text)
	}
}

func TestJUnit(t *testing.T) {
	var got strings.Builder
	if err := scenarios.WriteJUnit(&got, verdicts(t), map[string]string{"breaks": "the <story>"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/junit.golden.xml", got.String())
}

func TestNamesWidth(t *testing.T) {
	r := registry(t)
	file := parse(t, r, "systems: {mirror: }\nproperties: [mirror.*]")
	var got []int
	for _, name := range []string{"x", "a-scenario-name", strings.Repeat("x", 60)} {
		file.Metadata.Name = name
		got = append(got, scenarios.NamesWidth([]*scenarios.File{file}))
	}
	if diff := cmp.Diff([]int{8, 15, 36}, got); diff != "" {
		t.Error(diff)
	}
}
