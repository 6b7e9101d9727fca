package mutation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// TestSurvivorsAreMutants: each list names mutants that there are, with a reason.
func TestSurvivorsAreMutants(t *testing.T) {
	for _, target := range Targets() {
		survivors, err := target.ReadSurvivors(root)
		if err != nil {
			t.Error(err)
			continue
		}
		sites, err := target.Sites(root)
		if err != nil {
			t.Fatal(err)
		}
		if len(sites) == 0 {
			t.Errorf("%s has no mutants", target.Name)
		}
		if err := Known(survivors, sites); err != nil {
			t.Errorf("%s: %v", target.Survivors, err)
		}
	}
}

// TestSomeMutants builds one target with its mutants and tries a few: those that a
// property names, and one that the list of survivors names.
func TestSomeMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; make test does, without -short")
	}
	target, err := TargetOf("provingground")
	if err != nil {
		t.Fatal(err)
	}
	sample := map[string]string{
		"bugs_volumes.go attach drop-guard: !driver && careful is taken for false":                         "kubernetes115297.mounted-disks-stay",
		"bugs_volumes.go failOver ignore-error: err != nil && o.fixed is taken for false":                  "cloudnativepg10403.one-primary",
		"operator.go members.takeAway drop-guard: slices.Contains(wanted, o.GetName()) is taken for false": "zookeeper312.live-data-stays",
		"bugs_oncemade.go setPerTemplate drop-guard: err != nil || n > 0 is taken for false":               "survives",
	}
	mutants, err := target.Score(Hunt{
		Root: root, Folder: t.TempDir(), Runs: 8, Workers: 1, Scenarios: 1, Patience: 5 * time.Minute,
		Some: func(s *Site) bool { return sample[s.ID()] != "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		want := sample[m.ID()]
		if want == "survives" {
			want = ""
		}
		if m.Caught != want || !m.Reached {
			t.Errorf("%s: caught by %q in %s, want %q", m.ID(), m.Caught, m.By, want)
		}
	}
	if len(mutants) != len(sample) {
		t.Errorf("%d of %d mutants were tried", len(mutants), len(sample))
	}
}

func TestListsAreReadStrictly(t *testing.T) {
	dir := t.TempDir()
	target := &Target{Name: "x", Survivors: "list.txt"}
	for text, want := range map[string]string{
		"": "",
		"# a comment\n\na f skip-check: b is taken for true => equivalent: c is b\n": "",
		"a f skip-check: b\n":      "list.txt:1: write MUTANT => REASON: WHY",
		"a f skip-check: b => bad": "not \"a f skip-check: b => bad\"",
		"a => whatever: it is so":  "write MUTANT",
		"a => equivalent: ":        "write MUTANT",
	} {
		if err := os.WriteFile(filepath.Join(dir, "list.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := target.ReadSurvivors(dir)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestSurvivorsAreHeldAgainstTheList(t *testing.T) {
	a := Site{File: "a.go", Function: "f", Operator: SkipCheck, How: "x is taken for true"}
	b := Site{File: "a.go", Function: "f", Operator: DropGuard, How: "y is taken for false"}
	list := []Survivor{{ID: a.ID(), Reason: "equivalent: x is true"}}
	for name, row := range map[string]struct {
		mutants []Mutant
		want    string
	}{
		"as listed":          {[]Mutant{{Site: a}, {Site: b, Caught: "p"}}, ""},
		"not tried":          {nil, ""},
		"listed, caught":     {[]Mutant{{Site: a, Caught: "p"}}, "listed as a survivor, and caught by p"},
		"survives, unlisted": {[]Mutant{{Site: a}, {Site: b}}, "not caught, and not explained: a.go f drop-guard"},
	} {
		err := Explained(list, row.mutants)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Known(append(list, list...), []Site{a, b}); err == nil || !strings.Contains(err.Error(), "listed twice") {
		t.Errorf("listed twice: %v", err)
	}
	if err := Known(list, []Site{b}); err == nil {
		t.Error("a survivor that is no mutant is accepted")
	}
}

func TestTheTable(t *testing.T) {
	a := Site{File: "a.go", Function: "f", Operator: SkipCheck, How: "x is taken for true"}
	b := Site{File: "a.go", Function: "f", Operator: DropGuard, How: "y is taken for false"}
	c := Site{File: "a.go", Function: "f", Operator: DropGuard, How: "z is taken for false"}
	var out strings.Builder
	if err := WriteTable(&out, "x", []Mutant{{Site: a}, {Site: b, Caught: "p"}, {Site: c}}, []Survivor{{a.ID(), "equivalent: so"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"skip-check         1        0       0%     1 equivalent", "drop-guard         2        1       50%    1 unexplained", "all                3        1       33%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
