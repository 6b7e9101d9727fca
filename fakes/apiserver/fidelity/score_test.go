package fidelity_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"

	"github.com/seedbed-sim/seedbed/fakes/apiserver/conformance"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/fidelity"
)

// TestScore counts, in one run, how many of the recorded steps this project's
// fake answers as the real server did, and how many the fakes of
// controller-runtime and client-go do.
//
// The peers have Go interfaces and no protocol. Steps that such an interface has
// no way to ask for are left out of a peer's count, and of the others only what
// it can show is looked at: the code, the reason of an error, the shown fields of
// an object and the events; of a delete only the code. Ours is counted that way
// too, over all steps, and then strictly: with every message, cause, detail and
// warning.
func TestScore(t *testing.T) {
	cases, err := conformance.Load("../conformance/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	ours := countSteps(t, cases, newOurs)
	columns := []*tally{
		ours,
		countSteps(t, cases, newControllerRuntime),
		countSteps(t, cases, newClientGo),
	}
	t.Log("\n" + table([]string{"seedbed", "controller-runtime", "client-go"}, columns))
	for _, peer := range columns[1:] {
		if ours.all.share() <= peer.all.share() {
			t.Errorf("ours answers %.3f of its steps right, a peer %.3f", ours.all.share(), peer.all.share())
		}
	}
	for _, column := range columns {
		if column.all.steps+column.inexpressible != ours.all.steps {
			t.Errorf("%d and %d steps are not all %d", column.all.steps, column.inexpressible, ours.all.steps)
		}
	}
}

func newOurs(c *conformance.Case) conformance.Target {
	if !c.Full() {
		return fidelity.NewFake()
	}
	target, err := fidelity.NewFullFake()
	if err != nil {
		panic(err) // there is nothing in it that could fail once and not always
	}
	return target
}

// share is a part of steps.
type share struct{ right, steps int }

func (s share) share() float64 { return float64(s.right) / float64(max(s.steps, 1)) }

func (s share) String() string { return fmt.Sprintf("%d of %d", s.right, s.steps) }

func (s *share) count(right bool) {
	s.steps++
	if right {
		s.right++
	}
}

// tally is how one fake did.
type tally struct {
	all, strict   share
	cases         share // without a wrong step, of those with any that count
	inexpressible int
	subjects      map[string]share
}

func countSteps(t *testing.T, cases []*conformance.Case, open func(*conformance.Case) conformance.Target) *tally {
	t.Helper()
	sum := &tally{subjects: map[string]share{}}
	for _, c := range cases {
		synctest.Test(t, func(*testing.T) {
			sum.add(conformance.RunCase(context.Background(), open(c), c))
		})
	}
	return sum
}

// add counts the steps of a case. When it broke off, the steps not reached are
// wrong; or inexpressible, if they may have waited for a step that is.
func (sum *tally) add(result *conformance.Result) {
	outcomes := map[string]*conformance.Outcome{}
	for i := range result.Outcomes {
		outcomes[result.Outcomes[i].Step.ID] = &result.Outcomes[i]
	}
	subject, steps, agreed := sum.subjects[result.Case.Subject], 0, true
	beyond := map[string]bool{} // steps that were inexpressible
	for i := range result.Case.Steps {
		step := &result.Case.Steps[i]
		if step.Expect == nil {
			continue
		}
		o, reached := outcomes[step.ID]
		if cannotAsk(o) || beyond[step.Watch] || !reached && len(beyond) > 0 {
			beyond[step.ID] = true
			sum.inexpressible++
			continue
		}
		right := reached && rightAsFarAsShown(o)
		sum.all.count(right)
		sum.strict.count(reached && o.Agreed())
		subject.count(right)
		agreed = agreed && right
		steps++
	}
	sum.subjects[result.Case.Subject] = subject
	if steps > 0 {
		sum.cases.count(agreed)
	}
}

func cannotAsk(o *conformance.Outcome) bool {
	return o != nil && slices.ContainsFunc(o.Differences, func(d conformance.Difference) bool {
		return strings.Contains(d.Got, inexpressible)
	})
}

// rightAsFarAsShown looks only at what a Go interface shows.
func rightAsFarAsShown(o *conformance.Outcome) bool {
	return !slices.ContainsFunc(o.Differences, func(d conformance.Difference) bool {
		if strings.HasPrefix(d.Field, "code") {
			return !bothSucceed(d)
		}
		if o.Step.Verb == "delete" || o.Step.Verb == "deletecollection" {
			return false
		}
		return d.Field == "status.reason" || strings.HasPrefix(d.Field, "fields") || strings.HasPrefix(d.Field, "events")
	})
}

// bothSucceed: 200 and 201 look the same to a Go client.
func bothSucceed(d conformance.Difference) bool {
	return strings.HasPrefix(d.Want, "20") && strings.HasPrefix(d.Got, "20")
}

func table(names []string, columns []*tally) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(title string, cell func(*tally) string) {
		fmt.Fprint(w, title)
		for _, column := range columns {
			fmt.Fprint(w, "\t", cell(column))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "\t"+strings.Join(names, "\t"))
	row("steps answered right", func(c *tally) string { return fmt.Sprintf("%v (%.1f %%)", c.all, 100*c.all.share()) })
	row("strictly, with messages and warnings", func(c *tally) string {
		if c.inexpressible > 0 {
			return "-"
		}
		return fmt.Sprintf("%v (%.1f %%)", c.strict, 100*c.strict.share())
	})
	row("steps its interface cannot express", func(c *tally) string { return fmt.Sprint(c.inexpressible) })
	row("cases without a wrong step", func(c *tally) string { return c.cases.String() })
	for _, subject := range slices.Sorted(maps.Keys(columns[0].subjects)) {
		row("  "+subject, func(c *tally) string {
			if c.subjects[subject].steps == 0 {
				return "-"
			}
			return c.subjects[subject].String()
		})
	}
	_ = w.Flush() // into memory
	return out.String()
}
