package provingground_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/provingground"
	"github.com/seedbed-sim/seedbed/sim/explore"
)

func registry(t *testing.T) *scenarios.Registry {
	t.Helper()
	r, err := scenarios.New(provingground.Systems()...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// quick are the seeds from which the default mix finds a bug soon: the others are
// found from 0 on. What it takes from elsewhere is told by make provingground.
var quick = map[string]uint64{}

// TestEveryBugIsFound: by the default mix, from one seed on, in few runs.
func TestEveryBugIsFound(t *testing.T) {
	const limit = 128
	r := registry(t)
	for _, b := range provingground.Bugs() {
		t.Run(b.ID, func(t *testing.T) {
			buggy, _, err := b.Read(r)
			if err != nil {
				t.Fatal(err)
			}
			found, err := provingground.Look(r, buggy, explore.Selection{Strategies: explore.Mix()}, quick[b.ID], provingground.Limit{Runs: limit})
			if err != nil {
				t.Fatal(err)
			}
			if !found.Found {
				t.Errorf("not in %d runs", found.Runs)
			}
		})
	}
}

// TestTwinsHold: a search that cries wolf is of no use.
func TestTwinsHold(t *testing.T) {
	r := registry(t)
	for _, b := range provingground.Bugs() {
		t.Run(b.ID, func(t *testing.T) {
			_, fixed, err := b.Read(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provingground.Look(r, fixed, explore.Selection{Strategies: explore.Mix()}, 0, provingground.Limit{Runs: 32}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestScenariosTellTheWorkloadOnly: trouble comes from elsewhere, and a twin lives
// through the same story.
func TestScenariosTellTheWorkloadOnly(t *testing.T) {
	r := registry(t)
	for _, b := range provingground.Bugs() {
		buggy, fixed, err := b.Read(r)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(buggy.Faults.Add)+len(buggy.Faults.Remove) > 0 || buggy.Faults.Profile != "stormy" || buggy.Faults.Until != nil {
			t.Errorf("%s: faults other than those of the profile stormy", b.ID)
		}
		for _, word := range []string{"startFault", "crash", "restart", "stop:", "pause", "partition", "clock:"} {
			if strings.Contains(string(buggy.Text), word) {
				t.Errorf("%s: it says %q", b.ID, word)
			}
		}
		if buggy.Expect.Violates != b.FullProperty() || fixed.Expect.Violates != "" {
			t.Errorf("%s: it expects %q, the twin %q", b.ID, buggy.Expect.Violates, fixed.Expect.Violates)
		}
		want := strings.NewReplacer(
			"name: "+b.ID+"\n", "name: "+b.ID+"-fixed\n",
			"\n  "+b.System()+":\n", "\n  "+b.System()+": {fixed: true}\n",
			"expect: {violates: "+b.FullProperty()+"}", "expect: pass",
		).Replace(string(buggy.Text))
		if diff := cmp.Diff(want, string(fixed.Text)); diff != "" {
			t.Errorf("%s: the twin's story is another: %s", b.ID, diff)
		}
	}
}

// TestBugsAreTold: each with its link, in few lines.
func TestBugsAreTold(t *testing.T) {
	letters := ""
	for _, c := range provingground.Classes {
		letters += c.Letter
	}
	for _, b := range provingground.Bugs() {
		if !strings.HasPrefix(b.Link, "https://") || b.Title == "" || b.Why == "" || strings.Count(b.Why, "\n") > 20 {
			t.Errorf("%s: the link is %q, the title %q, the story %q", b.ID, b.Link, b.Title, b.Why)
		}
		if b.Class == "" || strings.Trim(b.Class, letters) != "" {
			t.Errorf("%s: its class is %q", b.ID, b.Class)
		}
	}
}
