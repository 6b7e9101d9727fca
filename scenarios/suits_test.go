package scenarios

import (
	"slices"
	"testing"

	"github.com/seedbed-sim/seedbed/sim/explore"
)

// What the mix adds to a scenario does not go beyond what may go wrong in it.
func TestPlansOfTheMixSuitTheScenario(t *testing.T) {
	old := false
	for name, row := range map[string]struct {
		faults  Faults
		cluster Cluster
		want    []string
	}{
		"no faults":             {want: nil},
		"some faults":           {faults: Faults{Add: []FaultUse{{Name: "watch-lag"}}}, want: nil},
		"all but one":           {faults: Faults{Profile: "stormy", Remove: []FaultName{"process-crash"}}, want: nil},
		"all":                   {faults: Faults{Profile: "stormy"}, want: []string{"crash", "stale", "missed", "overtaken"}},
		"all, streamed lists":   {faults: Faults{Profile: "swarm"}, cluster: Cluster{APIServers: 2}, want: []string{"crash", "stale", "missed", "overtaken"}},
		"all, lists of the old": {faults: Faults{Profile: "swarm"}, cluster: Cluster{APIServers: 2, WatchList: &old}, want: []string{"crash", "stale", "missed", "travel", "overtaken"}},
	} {
		f := &File{Scenario: Scenario{Faults: row.faults, Cluster: row.cluster}}
		var got []string
		for _, p := range explore.Plans() {
			if f.suits(p) {
				got = append(got, p.Name)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
