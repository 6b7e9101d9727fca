package scenarios

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/cluster"
)

// TestClockStepsAddUp reads the wall clock of a node after each of some steps.
func TestClockStepsAddUp(t *testing.T) {
	var off []time.Duration
	r := MustNew(System{
		Name: "watchmaker", Doc: "Reads the clock of node-1.",
		Build: BuildWith(func(w *World, _ struct{}) (*World, error) {
			w.Cluster.Node("node-1").Process(cluster.ProcessSpec{Name: "watch", Main: func(ctx context.Context, env *cluster.Env) {
				_ = env.Clock.Sleep(ctx, 500*time.Millisecond)
				for env.Clock.Sleep(ctx, time.Second) == nil {
					off = append(off, env.Clock.Now().Sub(w.Engine().Now()).Round(100*time.Millisecond))
				}
			}})
			return w, nil
		}),
	})
	file, err := r.Parse("x.yaml", []byte(`apiVersion: seedbed.dev/v1alpha1
kind: Scenario
metadata: {name: x, description: x}
systems: {watchmaker: }
properties: [no-panic]
steps:
- sleep: 1s
- clock: {node: node-1, step: +5s}
- sleep: 1s
- clock: {node: node-1, step: +5s}
- sleep: 1s
- clock: {node: node-1, drift: +1ppm}
- sleep: 1s
- clock: {node: node-1, step: -2s}
- sleep: 1s
- clock: {node: node-1, step: -8s, drift: +0ppm}
- sleep: 1s
`))
	if err != nil {
		t.Fatal(err)
	}
	o, records := r.TraceSeed(file, 1)
	if o.Result != Held {
		t.Fatal(o.Result, o.Found, o.Err)
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 10 * time.Second, 8 * time.Second, 0} // from 1.5 s on
	if diff := cmp.Diff(want, off[:5]); diff != "" {
		t.Error(diff)
	}
	var story strings.Builder
	WriteStory(&story, records, 0)
	for _, part := range []string{"the clock of node-1 moves by +5s, to be off by +10s", "the clock of node-1 drifts by +1ppm from now on"} {
		if !strings.Contains(strings.Join(strings.Fields(story.String()), " "), part) {
			t.Errorf("%q is not told:\n%s", part, story.String())
		}
	}
}
