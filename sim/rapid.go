package sim

import (
	"pgregory.net/rapid"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// CheckRapid makes one run whose choices are draws of a rapid property test, so
// that rapid finds and shrinks workloads and fault plans together with what the
// test draws itself:
//
//	rapid.Check(t, func(t *rapid.T) {
//		n := rapid.IntRange(1, 5).Draw(t, "replicas")
//		sim.CheckRapid(t, options, func(w *sim.World) { … n … })
//	})
func CheckRapid(t *rapid.T, o Options, build Build) {
	t.Helper()
	o = o.withDefaults()
	r := once(&o, build, how{source: RapidSource(t), trace: engine.TraceNotes})
	if r.Err == nil {
		return
	}
	for _, line := range abridge(Story(r.Records), storyLines) {
		t.Log(line)
	}
	t.Fatalf("%s", failureText(r.Err))
}

// RapidSource answers every choice of a run with a draw of t.
func RapidSource(t *rapid.T) engine.Source {
	return engine.NewDraw(func(label string, n uint64) uint64 {
		return rapid.Uint64Range(0, n-1).Draw(t, label)
	})
}
