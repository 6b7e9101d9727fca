package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seedbed-sim/seedbed/fakes/gossip"
)

var (
	realRuns  = flag.Int("gossip.runs", 2, "runs of the real library per script")
	modelRuns = flag.Int("gossip.model", 100, "runs of the model per script")
	rewrite   = flag.Bool("gossip.record", false, "write testdata/library.json from the runs of the real library")
)

var recordFile = filepath.Join("testdata", "library.json")

// unlikely is how improbable a difference between the model and the record must
// be to count. Both are fixed, so this test has no bad days: the table has some
// 110 measures, and the least probable may well come near a hundredth.
const unlikely = 1e-3

// absurd is the same for fresh runs of the library, which differ every time.
const absurd = 1e-5

// modelled are the model's samples, each made when it is first asked for.
var modelled = func() map[string]func() *sample {
	all := make(map[string]func() *sample)
	for _, sc := range scripts() {
		all[sc.name] = sync.OnceValue(func() *sample { return playModel(sc, nil) })
	}
	return all
}()

func playModel(sc script, tweak func(*gossip.Config)) *sample {
	var s sample
	for i := range *modelRuns {
		arm := newModel(uint64(i))
		arm.tweak = tweak
		s.add(sc.run(&stage{arm: arm, rng: diceOf(i)}))
	}
	return &s
}

func playReal(t *testing.T, sc script, runs int) *sample {
	var s sample
	for i := range runs {
		synctest.Test(t, func(*testing.T) {
			s.add(sc.run(&stage{arm: newLibrary(), rng: diceOf(i)}))
		})
	}
	return &s
}

// TestModelAgainstRecord compares the model with many recorded runs of the
// library, measure by measure. It is deterministic.
func TestModelAgainstRecord(t *testing.T) {
	record := readRecord(t)
	for _, sc := range scripts() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			seen := record[sc.name]
			if seen == nil {
				t.Fatalf("no recorded runs of %s: run this package with -gossip.record -gossip.runs 80", sc.name)
			}
			verdicts := compare(modelled[sc.name](), seen)
			t.Log(table(sc, verdicts, "recorded"))
			for _, v := range verdicts {
				if v.p < unlikely {
					t.Errorf("%s: %s differs (p = %.2g)\n  model   %s\n  library %s", sc.name, v.measure, v.p, v.model, v.real)
				}
			}
		})
	}
}

// TestLibraryAgainstModel runs the library itself and holds its few fresh runs
// against the ranges of the model: shares must be credible, and hardly any time
// may fall outside of what the model does in its many runs.
func TestLibraryAgainstModel(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real library for about 20 seconds; make test does, without -short")
	}
	all := scripts()
	fresh := make([]*sample, len(all))
	inside, outside := make([]int, len(all)), make([]int, len(all))
	t.Run("scripts", func(t *testing.T) {
		for i, sc := range all {
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				fresh[i] = playReal(t, sc, *realRuns)
				model := modelled[sc.name]()
				verdicts := compare(model, fresh[i])
				t.Log(table(sc, verdicts, "fresh"))
				for _, v := range verdicts {
					if v.p < absurd {
						t.Errorf("%s: %s is not credible (p = %.2g)\n  model   %s\n  library %s", sc.name, v.measure, v.p, v.model, v.real)
					}
				}
				inside[i], outside[i] = ranges(model, fresh[i])
			})
		}
	})
	in, out := 0, 0
	for i := range all {
		in, out = in+inside[i], out+outside[i]
	}
	t.Logf("%d of %d times outside of the model's range", out, in+out)
	if out*10 > in+out {
		t.Errorf("%d of %d times of the library are outside of the model's range", out, in+out)
	}
	if *rewrite && !t.Failed() {
		writeRecord(t, all, fresh)
	}
}

// ranges counts the library's times within and outside of the model's extremes.
func ranges(model, library *sample) (inside, outside int) {
	for _, name := range sortedKeys(library.Times) {
		seen := model.Times[name] // sorted
		lost := seen[0] < 0
		low, high := seen[0], seen[len(seen)-1]
		for _, ms := range seen {
			if ms >= 0 {
				low = ms
				break
			}
		}
		for _, ms := range library.Times[name] {
			if (ms < 0 && lost) || (ms >= 0 && high >= 0 && ms >= low-100 && ms <= high+100) {
				inside++
			} else {
				outside++
			}
		}
	}
	return inside, outside
}

// table renders the comparison side by side, with what the specification says.
func table(sc script, verdicts []verdict, kind string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (spec: %s)\n", sc.name, sc.spec)
	for _, v := range verdicts {
		fmt.Fprintf(&b, "    %-16s model %-48s library, %s %-48s p %.2g\n", v.measure, v.model, kind, v.real, v.p)
	}
	return b.String()
}

func readRecord(t *testing.T) map[string]*sample {
	t.Helper()
	raw, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]*sample
	if err := json.Unmarshal(raw, &record); err != nil {
		t.Fatalf("reading %s: %v", recordFile, err)
	}
	return record
}

// writeRecord writes one line per script, so that a change can be reviewed.
func writeRecord(t *testing.T, all []script, fresh []*sample) {
	t.Helper()
	var b strings.Builder
	for i, sc := range all {
		line, err := json.Marshal(fresh[i])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s%q: %s", map[bool]string{true: "{\n", false: ",\n"}[i == 0], sc.name, line)
	}
	b.WriteString("\n}\n")
	if err := os.WriteFile(recordFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
