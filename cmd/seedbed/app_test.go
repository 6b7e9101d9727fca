package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/mirror"
)

// result is what a user sees of one call of the command.
type result struct {
	code     int
	out, err string
}

// seedbed calls the command with the library of testdata/orphan.yaml and
// testdata/holds.yaml.
func seedbed(t *testing.T, args ...string) result {
	t.Helper()
	return seedbedIn(context.Background(), args...)
}

func seedbedIn(ctx context.Context, args ...string) result {
	return seedbedUp(ctx, nil, args...)
}

// seedbedUp tells when a cluster is served.
func seedbedUp(ctx context.Context, up func(), args ...string) result {
	var out, errs bytes.Buffer
	registry := scenarios.MustNew(mirror.System())
	a := &app{registry: registry, out: &out, err: &errs, up: up, program: itself("mirror"), library: twoFiles(registry)}
	code := a.main(ctx, args)
	return result{code, out.String(), errs.String()}
}

func twoFiles(registry *scenarios.Registry) func() ([]*scenarios.File, error) {
	return func() ([]*scenarios.File, error) { return registry.Read("testdata/holds.yaml", "testdata/orphan.yaml") }
}

// asProgram has the binary of the tests be the command, with the system that it names.
const asProgram = "SEEDBED_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	system, ok := map[string]scenarios.System{"mirror": mirror.System(), "moody": numbered(os.Getpid)}[os.Getenv(asProgram)]
	if !ok {
		os.Exit(m.Run())
	}
	registry := scenarios.MustNew(system)
	a := &app{registry: registry, out: os.Stdout, err: os.Stderr, library: twoFiles(registry)}
	os.Exit(a.main(context.Background(), os.Args[1:]))
}

// itself runs the command in a process of its own.
func itself(system string) func(ctx context.Context, args ...string) *exec.Cmd {
	return func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], args...)
		cmd.Env = append(os.Environ(), asProgram+"="+system)
		return cmd
	}
}

// numbered is a system whose runs have to do with a number from outside.
func numbered(number func() int) scenarios.System {
	return scenarios.System{
		Name: "moody", Doc: "A system that is not the same twice.",
		Build: scenarios.BuildWith(func(w *scenarios.World, _ struct{}) (int, error) {
			w.Say("this is number %d", number())
			return 0, nil
		}),
	}
}

func (r result) wants(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", r.code, code, r.out, r.err)
	}
	for _, part := range parts {
		if !strings.Contains(r.out+r.err, part) {
			t.Errorf("%q is not said\nstdout:\n%s\nstderr:\n%s", part, r.out, r.err)
		}
	}
}

func TestMistakesOnTheCommandLineGetOneClearLine(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"rn"}, `seedbed: "rn" is not a command of seedbed; did you mean "run"? The commands are check, cluster-explore, completion, ctl, explore, fidelity, list, replay, report, run, schema, serve, version.`},
		{[]string{"banana"}, `seedbed: "banana" is not a command of seedbed. The commands are check, cluster-explore, completion, ctl, explore, fidelity, list, replay, report, run, schema, serve, version.`},
		{[]string{"run", "--sed", "3"}, `seedbed: seedbed run has no flag --sed; did you mean "--seed"? The flags are --first-seed, --help, --junit, --output, --replays, --seed, --seeds, --shrink, --story, --trace, --verbose, --verify, --workers.`},
		{[]string{"run", "--seeds", "many"}, `seedbed: --seeds does not take "many": number of seeds to run of each scenario, 1 or more (default: what each scenario says)`},
		{[]string{"run", "--seeds", "0"}, `seedbed: --seeds 0: write how many seeds to run, 1 or more`},
		{[]string{"run", "--seed", "-1"}, `seedbed: --seed does not take "-1": run only this seed, a whole number from 0`},
		{[]string{"run", "--seed"}, `seedbed: --seed needs a value: run only this seed, a whole number from 0`},
		{[]string{"run", "--seed", "1", "--seeds", "2"}, `seedbed: --seed runs one seed and --seeds many; write one of them`},
		{[]string{"run", "--workers", "-2"}, `seedbed: --workers -2: write how many runs go side by side, 1 or more`},
		{[]string{"run", "-o", "xml"}, `seedbed: --output "xml": write text or json`},
		{[]string{"run", "--story"}, `seedbed: --trace and --story show one run; say which with --seed`},
		{[]string{"run", "--shrink", "-3s"}, `seedbed: --shrink -3s: write a time such as 10s, or 0s to leave histories as found`},
		{[]string{"run", "--shrink", "3"}, `seedbed: --shrink does not take "3": time for making each failing history small, such as 10s; 0s leaves it as found`},
		{[]string{"run", "testdata/hods.yaml"}, `seedbed: testdata/hods.yaml does not exist; did you mean "testdata/holds.yaml"?`},
		{[]string{"run", "orphn"}, `seedbed: "orphn" is neither a file nor a built-in scenario; did you mean "orphan"?`},
		{[]string{"help", "rn"}, `seedbed: "rn" is not a command of seedbed; did you mean "run"?`},
		{[]string{"help", "list", "stepps"}, `seedbed: "stepps" is not a command of seedbed list; did you mean "steps"?`},
		{[]string{"run", "--first-seed", "18446744073709551614", "--seeds", "3"},
			`seedbed: --first-seed 18446744073709551614: there are no 3 seeds from there on; the last seed is 18446744073709551615`},
		{[]string{"check", "testdata/mut"}, `seedbed: testdata/mut does not exist; give a scenario file, or a folder with *.yaml files`},
		{[]string{"check", "testdata/hold.yaml"}, `seedbed: testdata/hold.yaml does not exist; did you mean "testdata/holds.yaml"?`},
		{[]string{"run", "nowhere"}, `seedbed: nowhere does not exist; give a scenario file, or a folder with *.yaml files`},
		{[]string{"run", "--junit", "nowhere/x.xml"}, `seedbed: --junit: open nowhere/x.xml: no such file or directory`},
		{[]string{"run", "--story", "--seed", "1"}, `seedbed: --trace and --story show one run, but the paths name 2 scenarios; give one file`},
		{[]string{"replay"}, `seedbed: seedbed replay takes one replay file; 0 were given`},
		{[]string{"replay", "testdata/holds.yaml"}, `seedbed: testdata/holds.yaml is not a replay file: invalid character 'a' looking for beginning of value`},
		{[]string{"replay", "nowhere.json"}, `seedbed: nowhere.json does not exist`},
		{[]string{"list"}, `seedbed: say what to list: seedbed list scenarios|systems|properties|faults|controllers|steps`},
		{[]string{"list", "stepps"}, `seedbed: "stepps" is not a command of seedbed list; did you mean "steps"? The commands are controllers, faults, properties, scenarios, steps, systems.`},
		{[]string{"list", "steps", "all"}, `seedbed: seedbed list steps takes nothing more; leave out "all"`},
		{[]string{"schema", "x"}, `seedbed: seedbed schema takes no arguments; leave out "x"`},
		{[]string{"version", "x"}, `seedbed: seedbed version takes no arguments; leave out "x"`},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := seedbed(t, test.args...)
			if got.code != exitBadInput || got.out != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.out)
			}
			if !strings.HasPrefix(got.err, test.want) || strings.Count(got.err, "\n") != 1 {
				t.Errorf("got  %s\nwant %s", got.err, test.want)
			}
		})
	}
}

func TestRunTheLibrary(t *testing.T) {
	got := seedbed(t, "run")
	got.wants(t, exitOK)
	want := `       scenario   runs  result
ok     holds         4  held
ok     orphan        4  as expected, 4 of 4 violate mirror.no-orphans

2 scenarios, 8 runs, TIME simulated, N steps
  properties checked   2 of mirror
  conditions checked   1
  expected violations  orphan (4 of 4)
every scenario showed what it is written to show
`
	if diff := cmp.Diff(want, settled(got.out)); diff != "" {
		t.Error(diff)
	}
	if got.err != "" {
		t.Errorf("stderr: %s", got.err)
	}
	seedbed(t, "run", "-v").wants(t, exitOK, "  properties checked   mirror: copies-equal-originals, no-orphans\n", "  conditions checked   holds/few-copies\n")
}

// settled hides the numbers that a change of the simulator changes.
func settled(text string) string {
	text = regexp.MustCompile(`[0-9a-z.]+ simulated, [0-9,]+ steps`).ReplaceAllString(text, "TIME simulated, N steps")
	return regexp.MustCompile(`[0-9a-f]{16}`).ReplaceAllString(text, "HASH")
}

func TestAViolationIsToldShrunkAndReplayed(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "replays")
	junit := filepath.Join(t.TempDir(), "report.xml")
	got := seedbed(t, "run", "testdata/breaks.yaml", "--replays", folder, "--junit", junit, "--shrink", "2s")
	replay := filepath.Join(folder, "breaks-seed0.replay.json")
	got.wants(t, exitViolated,
		"FAIL   breaks        4  seed 0 violates mirror.no-orphans\n",
		"FAIL breaks, seed 0: mirror.no-orphans\n",
		"  meaning  No copy outlives its original: what was deleted must not be read any\n           more.\n",
		"copies without an original: 1",
		`writes "one" into the original a`,
		"deletes ConfigMap originals/a",
		"  history  shrunk from ",
		"seedbed replay "+replay,
		"1 scenario did not show what it is written to show")
	for line := range strings.Lines(got.out) {
		if len([]rune(strings.TrimRight(line, "\n"))) > 80 && !strings.Contains(line, folder) {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}

	again := seedbed(t, "replay", replay)
	again.wants(t, exitViolated, "breaks, seed 0\n", "violates mirror.no-orphans", `writes "one" into the original a`)
	if second := seedbed(t, "replay", replay); second != again {
		t.Error("two replays differ")
	}

	picture := filepath.Join(folder, "breaks-seed0.html")
	got.wants(t, exitViolated, "  picture  "+picture+"\n")
	page, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "<title>breaks: violates mirror.no-orphans</title>") {
		t.Errorf("the picture begins with %.300s", page)
	}

	text, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if report.Failures != 1 || report.Suites[0].Cases[0].Name != "breaks" || !strings.Contains(report.Suites[0].Cases[0].Failure, "what was deleted") {
		t.Errorf("%+v", report)
	}
}

func TestAReplayThatCannotBeWrittenHidesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := seedbed(t, "run", "testdata/breaks.yaml", "--shrink", "0s", "--replays", filepath.Join(file, "replays"))
	r.wants(t, exitViolated, "copies without an original: 1", `writes "one" into the original a`, "seedbed run testdata/breaks.yaml --seed 0",
		"  warning  there is no replay file: ")
	result{code: r.code, out: strings.Join(strings.Fields(r.out), " ")}.wants(t, exitViolated, "not a directory") // lines break where the path ends
}

func TestAReplayOfAnotherProgramIsNoticed(t *testing.T) {
	folder := t.TempDir()
	seedbed(t, "run", "testdata/breaks.yaml", "--replays", folder, "--shrink", "0s")
	path := filepath.Join(folder, "breaks-seed0.replay.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, changed := range map[string]string{
		"another program":  regexp.MustCompile(`"hash": "[0-9a-f]{16}"`).ReplaceAllString(string(text), `"hash": "0123456789abcdef"`),
		"another scenario": strings.Replace(string(text), `- delete: {`, `- sleep: 1s\n  - delete: {`, 1),
	} {
		t.Run(what, func(t *testing.T) {
			if changed == string(text) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			seedbed(t, "replay", path).wants(t, exitEngine, "the run did not repeat as recorded")
		})
	}
}

func TestJSONIsOneLinePerRunInTheSameOrderForAnyNumberOfWorkers(t *testing.T) {
	one := seedbed(t, "run", "-o", "json", "--seeds", "6", "--workers", "1")
	many := seedbed(t, "run", "-o", "json", "--seeds", "6", "--workers", "8")
	one.wants(t, exitOK)
	if diff := cmp.Diff(one, many, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
	lines := strings.Split(strings.TrimSpace(one.out), "\n")
	if len(lines) != 12 {
		t.Fatalf("%d lines:\n%s", len(lines), one.out)
	}
	hashes := map[string]bool{}
	for i, line := range lines {
		var got scenarios.Line
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		hashes[got.Hash] = true
		want := scenarios.Line{Scenario: "holds", File: "testdata/holds.yaml", Seed: uint64(i % 6), Result: scenarios.Held, Expected: true}
		if i >= 6 {
			want = scenarios.Line{Scenario: "orphan", File: "testdata/orphan.yaml", Seed: uint64(i % 6), Result: scenarios.Violated, Expected: true,
				Property: "mirror.no-orphans", Found: got.Found}
		}
		if got.Steps == 0 || got.Simulated == 0 {
			t.Errorf("an empty run: %s", line)
		}
		got.Hash, got.Steps, got.Simulated = "", 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if len(hashes) < 10 {
		t.Errorf("12 runs of different seeds have only %d hashes", len(hashes))
	}
}

func TestOneSeedOnly(t *testing.T) {
	got := seedbed(t, "run", "testdata/holds.yaml", "--seed", "3", "-o", "json")
	got.wants(t, exitOK, `"seed":3,`)
	if strings.Count(got.out, "\n") != 1 {
		t.Error(got.out)
	}
	later := seedbed(t, "run", "testdata/holds.yaml", "--first-seed", "3", "--seeds", "1", "-o", "json")
	if later.out != got.out {
		t.Errorf("seed 3 is not seed 3:\n%s%s", got.out, later.out)
	}
}

func TestVerifyRunsEachSeedTwice(t *testing.T) {
	seedbed(t, "run", "--verify").wants(t, exitOK)
}

func TestVerifyNoticesWhatIsDecidedOutsideTheSimulation(t *testing.T) {
	runs := 0
	got := verifiesMoody(t, func() int { runs++; return runs })
	got.wants(t, exitEngine, "seed 0 gave two different runs", "from step ", "that is made of time.Now, of a global random generator or of memory kept from\n")
}

// What is the same twice in one process is looked at in another.
func TestVerifyNoticesWhatDependsOnTheProcess(t *testing.T) {
	got := verifiesMoody(t, os.Getpid)
	got.wants(t, exitEngine, "ok     moody", "ERROR moody, seed 0\n", "in another process seed 0 gave two different runs", "from step ")
}

func verifiesMoody(t *testing.T, number func() int) result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "moody.yaml")
	text := "apiVersion: seedbed.dev/v1alpha1\nkind: Scenario\nmetadata: {name: moody, description: Not the same twice.}\n" +
		"systems: {moody: }\nproperties: [story-completes]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{registry: scenarios.MustNew(numbered(number)), out: &out, err: &out, program: itself("moody")}
	code := a.main(context.Background(), []string{"run", path, "--verify", "--workers", "1", "--seeds", "1"})
	return result{code, out.String(), ""}
}

func TestExpectationsThatAreNotMet(t *testing.T) {
	got := seedbed(t, "run", "testdata/unshown.yaml")
	got.wants(t, exitViolated,
		"FAIL   unshown       4  never violates mirror.no-orphans\n",
		"expected violation not seen: mirror.no-orphans held in all 4 runs",
		"--seeds 40")
}

func TestBuiltInPropertiesCanBeExpected(t *testing.T) {
	seedbed(t, "run", "testdata/panics.yaml", "testdata/impatient.yaml").wants(t, exitOK,
		"as expected, 2 of 2 violate no-panic", "as expected, 2 of 2 violate story-completes")
}

func TestAConditionThatCannotBeEvaluatedIsBadInput(t *testing.T) {
	seedbed(t, "run", "testdata/unevaluable.yaml").wants(t, exitBadInput, "ERROR unevaluable, seed 0", "division by zero")
}

func TestNothingRunsIfAFileIsBad(t *testing.T) {
	got := seedbed(t, "run", "testdata/holds.yaml", "testdata/misspelt.yaml")
	got.wants(t, exitBadInput, `unknown step "wat"; did you mean "wait"?`, "1 mistake in 1 file; nothing was run")
	if got.out != "" {
		t.Errorf("something was run:\n%s", got.out)
	}
}

func TestCheck(t *testing.T) {
	seedbed(t, "check").wants(t, exitOK, "2 scenarios are valid\n")
	seedbed(t, "check", "testdata/holds.yaml").wants(t, exitOK, "1 scenario is valid\n")
	seedbed(t, "check", "testdata").wants(t, exitBadInput, "misspelt.yaml:10:5")
}

// TestBuiltInScenariosHaveNames runs them from a folder that does not have them.
func TestBuiltInScenariosHaveNames(t *testing.T) {
	source, err := os.ReadFile("testdata/holds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	registry := scenarios.MustNew(mirror.System())
	library := func() ([]*scenarios.File, error) {
		return registry.ReadFS(fstest.MapFS{"01-holds.yaml": {Data: source}}, "mirror")
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"holds", "mirror/01-holds.yaml", "mirror", "mirror/"} {
		var out bytes.Buffer
		a := &app{registry: registry, out: &out, err: &out, library: library}
		if code := a.main(context.Background(), []string{"run", name, "--seed", "0"}); code != exitOK || !strings.Contains(out.String(), "1 scenario, 1 run") {
			t.Errorf("%s: exit code %d\n%s", name, code, out.String())
		}
	}
	if err := os.WriteFile("own.yaml", source, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{registry: registry, out: &out, err: &out, library: library}
	if code := a.main(context.Background(), []string{"check", "own.yaml", "holds"}); code != exitBadInput || !strings.Contains(out.String(), "are both called \"holds\"") {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
}

func TestTheStoryAndTheTraceOfOneRun(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	got := seedbed(t, "run", "testdata/holds.yaml", "--seed", "1", "--story", "--trace", trace)
	got.wants(t, exitOK, `story`, `writes "one" into the original a`, "crashes mirror")
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func TestLists(t *testing.T) {
	seedbed(t, "list", "scenarios").wants(t, exitOK, "orphan\n    ", "      file    testdata/orphan.yaml\n", "      expect  violates mirror.no-orphans\n")
	seedbed(t, "list", "systems").wants(t, exitOK, "mirror\n    A controller that keeps a copy", "forgetful")
	seedbed(t, "list", "properties").wants(t, exitOK, "mirror.no-orphans\n", "story-completes\n", "Checked in every run.")
	seedbed(t, "list", "faults").wants(t, exitOK, "profile stormy\n", "api-loss-response\n", "      rate ")
	seedbed(t, "list", "steps").wants(t, exitOK, "mirror.set\n", "      - crash: {target: node-1, downFor: 20s}\n")
	for _, what := range []string{"scenarios", "systems", "properties", "faults", "steps"} {
		for line := range strings.Lines(seedbed(t, "list", what).out) {
			if len([]rune(line)) > 81 {
				t.Errorf("list %s: wider than 80 columns: %s", what, line)
			}
		}
	}
}

func TestSchemaVersionCompletionAndHelp(t *testing.T) {
	schema := seedbed(t, "schema")
	schema.wants(t, exitOK)
	if !json.Valid([]byte(schema.out)) {
		t.Error("the schema is not JSON")
	}
	seedbed(t, "version").wants(t, exitOK, "seedbed ", "scenarios seedbed.dev/v1alpha1\n")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		seedbed(t, "completion", shell).wants(t, exitOK, "seedbed")
	}
	seedbed(t, "__complete", "ru").wants(t, exitOK, "run\t")
	seedbed(t, "help").wants(t, exitOK, "Usage:", "seedbed run my.yaml --seeds 1000")
	seedbed(t, "help", "run").wants(t, exitOK, "Exit codes: 0 every scenario showed", "--first-seed", "--help")
	seedbed(t, "run", "testdata/holds.yaml", "--first-seed", "18446744073709551614", "--seeds", "2", "-o", "json").wants(t, exitOK, `"seed":18446744073709551615,`)
	seedbed(t).wants(t, exitOK, "Usage:", "seedbed run my.yaml --seeds 1000")
	seedbed(t, "run", "--help").wants(t, exitOK, "Exit codes: 0 every scenario showed", "--first-seed")
}

func TestInterruptedRunsStopCleanly(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got := seedbedIn(ctx, "run", "--seeds", "1000")
	got.wants(t, exitInterrupted, "seedbed: interrupted after 0 of 2,000 runs")
}

func TestColoursOnlyWhenAskedFor(t *testing.T) {
	if got := seedbed(t, "run"); strings.Contains(got.out, "\x1b") {
		t.Error("colours without a terminal")
	}
	var out bytes.Buffer
	registry := scenarios.MustNew(mirror.System())
	a := &app{registry: registry, out: &out, err: &out, colour: true}
	a.main(context.Background(), []string{"run", "testdata/holds.yaml"})
	if !strings.Contains(out.String(), "\x1b[32mok\x1b[0m     holds") {
		t.Errorf("no colours on a terminal:\n%s", out.String())
	}
}
