package provingground_test

import (
	"regexp"
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

// quick are seeds from which the default mix finds a bug in a few runs, so that the test
// is quick; others are found from 0 on. What it takes from anywhere is in the README.
var quick = map[string]uint64{
	"zookeeper-312":        219,
	"percona-xtradb-716":   136,
	"cass-operator-118":    136,
	"casskop-316":          136,
	"rabbitmq-648":         73,
	"zookeeper-314":        338,
	"percona-mongodb-433":  60,
	"percona-mongodb-438":  297,
	"percona-mongodb-578":  16,
	"percona-xtradb-979":   12,
	"casskop-370":          21,
	"nifikop-49":           16,
	"kubernetes-67662":     186,
	"cilium-19877":         17,
	"kubernetes-59848":     250,
	"cilium-27123":         16,
	"reloader-701":         9,
	"rabbitmq-653":         39,
	"cloudnative-pg-10403": 28,
	"nri-63":               32,
	"containerd-8426":      12,
	"antrea-1527":          28,
	"cilium-16561":         20,
}

// TestEveryBugIsFound: by the default mix, from one seed on, in few runs.
func TestEveryBugIsFound(t *testing.T) {
	const limit = 8
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
			if _, err := provingground.Look(r, fixed, explore.Selection{Strategies: explore.Mix()}, 0, provingground.Limit{Runs: 20}); err != nil {
				t.Error(err)
			}
		})
	}
}

// trouble is a step that makes trouble.
var trouble = regexp.MustCompile(`(?m)^ *- *(startFault|crash|restart|stop|pause|partition|clock):`)

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
		if step := trouble.Find(buggy.Text); step != nil {
			t.Errorf("%s: its story has the step %q", b.ID, step)
		}
		if buggy.Expect.Violates != b.FullProperty() || fixed.Expect.Violates != "" {
			t.Errorf("%s: it expects %q, the twin %q", b.ID, buggy.Expect.Violates, fixed.Expect.Violates)
		}
		want := strings.NewReplacer(
			"name: "+b.ID+"\n", "name: "+b.ID+"-fixed\n",
			"\n  "+b.System()+":\n", "\n  "+b.System()+": {fixed: true}\n",
			"expect: {violates: "+b.FullProperty()+"}", "expect: pass",
			"\n  - "+b.FullProperty()+"\n", "\n  - "+b.System()+".*\n", // its work as well
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
