package conformance

import (
	"context"
	"testing"
)

// Run runs the cases of a directory as subtests and logs the score. A case
// fails unless it agrees or is excused by excluded.
//
// Open makes the target of one case, or returns a reason to skip it. Around,
// if not nil, is called with the body of each subtest and must run it; it is
// where testing/synctest comes in.
func Run(t *testing.T, dir string, excluded []Exclusion, open func(t *testing.T, c *Case) (Target, string), around func(t *testing.T, body func(t *testing.T))) *Report {
	t.Helper()
	cases, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if around == nil {
		around = func(t *testing.T, body func(t *testing.T)) { body(t) }
	}
	report := &Report{Excluded: excluded}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			around(t, func(t *testing.T) {
				target, skip := open(t, c)
				if skip != "" {
					t.Skip(skip)
				}
				result := RunCase(context.Background(), target, c)
				report.Results = append(report.Results, result)
				judge(t, result, excluded)
			})
		})
	}
	t.Log(report.Score())
	return report
}

func judge(t *testing.T, result *Result, excluded []Exclusion) {
	t.Helper()
	switch result.Verdict(excluded) {
	case Differed:
		step, d := result.First(excluded)
		t.Errorf("step %s: %s", step.ID, d)
	case Broken:
		t.Errorf("broke off: %v", result.Err)
	}
}
