package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/report"
)

func TestDraw(t *testing.T) {
	d := report.Draw(lostUpdate())

	t.Run("a lane for each actor, in the order of the cluster", func(t *testing.T) {
		want := []report.Lane{
			{Name: "story", Label: "story", Kind: report.StoryLane},
			{Name: "faults", Label: "faults", Kind: report.FaultLane},
			{Name: "apiserver-0", Label: "apiserver-0", Group: "control plane", Kind: report.ServerLane},
			{Name: "node-1/writer", Label: "writer", Group: "node-1", Kind: report.ProcessLane},
			{Name: "node-2", Label: "node-2", Group: "node-2", Kind: report.NodeLane},
			{Name: "node-2/writer", Label: "writer", Group: "node-2", Kind: report.ProcessLane},
			{Name: "node-10/writer", Label: "writer", Group: "node-10", Kind: report.ProcessLane},
		}
		if diff := cmp.Diff(want, d.Lanes); diff != "" {
			t.Errorf("lanes (-want +got):\n%s", diff)
		}
	})

	t.Run("what has words is an event, and errors stand out", func(t *testing.T) {
		var bad []string
		for _, e := range d.Events {
			if e.Bad {
				bad = append(bad, d.Lanes[e.Lane].Name+": "+e.Text)
			}
		}
		want := []string{
			"node-2/writer: update configmaps/default/counter -> 409 Conflict",
			"story: property broken: counts: two writes, and the counter is 1",
		}
		if diff := cmp.Diff(want, bad); diff != "" {
			t.Errorf("bad events (-want +got):\n%s", diff)
		}
		if got, want := len(d.Events), 12; got != want {
			t.Errorf("%d events, want %d", got, want)
		}
		if got, want := d.Events[4].Object, "configmaps/default/counter"; got != want {
			t.Errorf("the watch event is about %q, want %q", got, want)
		}
	})

	t.Run("requests, answers and watch events are arrows", func(t *testing.T) {
		const object = "configmaps/default/counter"
		want := []report.Arrow{
			{From: 3, To: 2, Sent: 5 * ms, Arrived: 6 * ms, Kind: report.RequestArrow, Object: object, Describe: "update"},
			{From: 2, To: 3, Sent: 6 * ms, Arrived: 8 * ms, Kind: report.AnswerArrow, Object: object, Describe: "update"},
			{From: 2, To: 5, Sent: 6 * ms, Arrived: 9 * ms, Kind: report.WatchArrow, Object: object, Describe: "update"},
			{From: 5, To: 2, Sent: 22 * ms, Arrived: 25 * ms, Kind: report.RequestArrow, Object: object, Describe: "update", Bad: true},
		}
		if diff := cmp.Diff(want, d.Arrows); diff != "" {
			t.Errorf("arrows (-want +got):\n%s", diff)
		}
	})

	t.Run("what was wrong, down or paused is a band", func(t *testing.T) {
		want := []report.Band{
			{Lane: 1, From: 0, To: 30 * ms, Label: "api-latency, api-loss", Kind: report.FaultBand},
			{Lane: 4, From: 10 * ms, To: 20 * ms, Label: "partition", Kind: report.FaultBand},
			{Lane: 5, From: 12 * ms, To: 15 * ms, Label: "does not run", Kind: report.DownBand},
			{Lane: 5, From: 18 * ms, To: 19 * ms, Label: "paused", Kind: report.PauseBand},
		}
		if diff := cmp.Diff(want, d.Bands); diff != "" {
			t.Errorf("bands (-want +got):\n%s", diff)
		}
	})

	t.Run("states of objects are kept with who wrote them", func(t *testing.T) {
		want := []report.State{
			{Object: "configmaps/default/counter", Revision: 5, JSON: `{"data":{"n":"0"}}`},
			{At: 6 * ms, Object: "configmaps/default/counter", Revision: 6, By: "node-1/writer", JSON: `{"data":{"n":"1"}}`},
		}
		if diff := cmp.Diff(want, d.States); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}
