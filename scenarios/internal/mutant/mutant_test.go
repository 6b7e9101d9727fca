package mutant

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const original = `package ring

// Sum adds.
func (r *Ring) Sum(first int, _ string, more ...int) (sum int, err error) {
	for _, n := range more {
		sum += n
	}
	return sum + first, nil
}

func reset(Ring) { last = 0 }

var last = 1
`

func TestPlantedFunctionsAskWhichBugToRun(t *testing.T) {
	got, err := plant(original, []Mutant{
		{Name: "forgetFirst", Old: "sum + first", New: "sum"},
		{Name: "stay", Old: "last = 0", New: ""},
		{Name: "subtract", Old: "sum += n", New: "sum -= n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `package ring

// Sum adds.
func (r *Ring) Sum(p0 int, p1 string, p2 ...int) (sum int, err error) {
	switch planted {
	case "forgetFirst":
		return r.Sum_forgetFirst(p0, p1, p2...)
	case "subtract":
		return r.Sum_subtract(p0, p1, p2...)
	default:
		return r.Sum_asWritten(p0, p1, p2...)
	}
}

func (r *Ring) Sum_asWritten(first int, _ string, more ...int) (sum int, err error) {
	for _, n := range more {
		sum += n
	}
	return sum + first, nil
}

func (r *Ring) Sum_forgetFirst(first int, _ string, more ...int) (sum int, err error) {
	for _, n := range more {
		sum += n
	}
	return sum, nil
}

func (r *Ring) Sum_subtract(first int, _ string, more ...int) (sum int, err error) {
	for _, n := range more {
		sum -= n
	}
	return sum + first, nil
}

func reset(p0 Ring) {
	switch planted {
	case "stay":
		reset_stay(p0)
	default:
		reset_asWritten(p0)
	}
}

func reset_asWritten(Ring) { last = 0 }

func reset_stay(Ring) {}

var last = 1
`
	formatted, err := format.Source([]byte(got))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, got)
	}
	if diff := cmp.Diff(want, string(formatted)); diff != "" {
		t.Errorf("planted (-want +got):\n%s", diff)
	}
}

func TestMutantsThatDoNotFitAreRefused(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "package a\n\nvar size = 1\n\nfunc f() int { return size + size }\n\nfunc g() int { return 2 }\n")
	write("bad.go", "package\n")
	for _, test := range []struct {
		name    string
		mutants []Mutant
		want    string
	}{
		{"gone", []Mutant{{Name: "m", File: "a.go", Old: "size * size"}}, "a.go: mutant m: the text to replace is found 0 times, not once:\nsize * size"},
		{"twice", []Mutant{{Name: "m", File: "a.go", Old: "return"}}, "found 2 times"},
		{"no function", []Mutant{{Name: "m", File: "a.go", Old: "var size = 1"}}, "not in the body of a function"},
		{"across functions", []Mutant{{Name: "m", File: "a.go", Old: "size }\n\nfunc g"}}, "not in the body of a function"},
		{"no such file", []Mutant{{Name: "m", File: "b.go", Old: "x"}}, "b.go: no such file"},
		{"no Go", []Mutant{{Name: "m", File: "bad.go", Old: "x"}}, "bad.go: parse"},
		{"no identifier", []Mutant{{Name: "a bug", File: "a.go", Old: "2", New: "3"}}, `mutant "a bug": the name is taken or no identifier`},
		{"same name", []Mutant{{Name: "m", File: "a.go", Old: "2"}, {Name: "m", File: "a.go", Old: "size + size"}}, `mutant "m": the name is taken`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Plant(root, t.TempDir(), test.mutants)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}
