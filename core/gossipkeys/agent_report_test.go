package gossipkeys_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seedbed-sim/seedbed/core/gossipkeys"
)

func generation(n int64) gossipkeys.Version { return gossipkeys.Version{UID: "u", Generation: n} }

// A report is evidence: it is made only of a ring that holds the list whose
// version it names.
func TestAgentReportsOnlyWhatTheRingHolds(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		a.OnVersion(generation(1), keys("A"))
		a.OnKeys(keys("A"))
		s.want("report", "0s report 1")

		a.OnVersion(generation(2), keys("AB")) // heard of, not applied
		time.Sleep(3 * time.Minute)
		s.want("report", "0s report 1")

		a.OnKeys(keys("AB"))
		s.want("report", "0s report 1", "3m0s report 2")

		a.OnVersion(generation(3), keys("AB")) // the same list, written again
		s.want("report", "0s report 1", "3m0s report 2", "3m0s report 3")

		want := gossipkeys.Report{Version: generation(3), Keys: keys("AB").Fingerprints()}
		got := s.reports[len(s.reports)-1]
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(gossipkeys.Report{}, "Time")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if at := got.Time.Sub(s.start); at != 3*time.Minute {
			t.Errorf("the ring holds this list since %v, want 3m0s", at)
		}
	})
}

// While a change has failed half-way, nobody knows what the ring holds, not
// even that it holds the list before.
func TestAgentDoesNotReportAHalfChangedRing(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		a.OnVersion(generation(1), keys("A"))
		a.OnKeys(keys("A"))
		synctest.Wait()
		s.set(func() { s.failing["use"] = errors.New("broken") })
		a.OnVersion(generation(2), keys("BA"))
		a.OnKeys(keys("BA"))
		synctest.Wait()
		a.OnVersion(generation(3), keys("A")) // back again: the ring is at neither
		time.Sleep(4 * time.Second)
		s.want("report", "0s report 1")
		a.OnKeys(keys("A"))
		s.set(func() { delete(s.failing, "use") })
		time.Sleep(time.Minute)
		if got := ringLetters(s.ring); got != "A" {
			t.Errorf("ring %s", got)
		}
		s.want("report", "0s report 1", "4s report 3", "1m4s report 3")
	})
}

func TestAgentRepeatsReports(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		s.set(func() { s.failing["report"] = errors.New("no answer") })
		a.OnVersion(generation(1), keys("A"))
		a.OnKeys(keys("A"))
		time.Sleep(20 * time.Second)
		s.set(func() { delete(s.failing, "report") })
		time.Sleep(100 * time.Second)
		// Failed at 0, 5 and 15 s; then it is repeated in case it gets lost.
		s.want("report", "0s report 1", "5s report 1", "15s report 1", "35s report 1", "1m35s report 1")
	})
}

// A source without versions still makes reports, which no Rotator believes.
func TestAgentWithoutVersions(t *testing.T) {
	play(t, gossipkeys.AgentConfig{}, func(s *stage, a *gossipkeys.Agent) {
		a.OnKeys(keys("A"))
		synctest.Wait()
		if len(s.reports) != 1 || s.reports[0].Version != (gossipkeys.Version{}) {
			t.Errorf("reports: %v", s.reports)
		}
	})
}
