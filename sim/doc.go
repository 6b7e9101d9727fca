// Package sim is what the author of a simulation test imports.
//
// A check builds a world many times over, each time with other choices: which
// task runs next, how long each message takes, what goes wrong. It says what
// must be true, and gets back either the number of histories in which it was, or
// one small history in which it was not.
//
//	func TestController(t *testing.T) {
//		sim.Check(t, sim.Options{
//			Cluster: cluster.Config{Nodes: 3, Profile: cluster.Stormy()},
//		}, func(w *sim.World) {
//			w.ControlPlane().Process(cluster.ProcessSpec{Name: "manager", Main: …})
//			w.Create(&corev1.ConfigMap{…})
//			w.Always("one leader", "two leaders would both write", func() error { … })
//			w.Eventually("converged", "users wait for this", time.Minute, func() error { … })
//		})
//	}
//
// # In order of need
//
//	Check              many seeds in a test; a failure is shrunk and told
//	World              the cluster of one run, its script and its properties
//	Always, Never, Eventually, Finally, Sometimes, Reached
//	                   what must be true of each run, or of some run
//	EventuallyInCore   what a part of the cluster must come to while the rest stays broken
//	Calm, Stormy, Swarm, Races
//	                   how much goes wrong (package sim/cluster has the details)
//	CheckRapid, Fuzz   other sources of choices: rapid, Go's native fuzzing
//	Run, RunSeed, RunReplay
//	                   the same outside of tests
//
// One run is single-threaded and a function of its choices: the same seed gives
// the same hash, on any number of workers. Check runs some seeds twice to see
// that this is so for the code under test as well.
package sim
