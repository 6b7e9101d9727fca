// Package unmodified runs programs that know nothing of a simulation in a simulated
// cluster: controller-runtime managers, with their caches, work queues and leader
// election, and anything else on client-go.
//
//	func TestOperator(t *testing.T) {
//		unmodified.Check(t, sim.Options{Cluster: cluster.Config{Profile: cluster.Stormy()}}, func(w *unmodified.World) {
//			w.Program(unmodified.Program{Name: "operator", Start: func(ctx context.Context, cfg *rest.Config) error {
//				mgr, err := ctrl.NewManager(cfg, unmodified.Options(ctx, ctrl.Options{…}))
//				…
//				return mgr.Start(ctx)
//			}})
//			w.Eventually("converged", "users wait for this", time.Minute, func() error { … })
//		})
//	}
//
// Everything else is package sim: the same world, faults, properties, seeds, shrinking,
// stories and replay files. Package oracle has properties that need no knowledge of the
// program.
//
// Admission webhooks of a manager are served without a port or certificates, and asked
// about what config/webhook/manifests.yaml says: see [WebhookServer], [ReadWebhooks] and
// the field Webhooks of [Program]. CustomResourceDefinitions are created as any object.
//
// # How it works
//
// Each run is a testing/synctest bubble. The programs run in it on goroutines of their
// own; the simulated cluster, an engine, runs on the bubble's first. Their clocks are
// kept the same. A request of a program stops at a gate. When nothing in the bubble can
// go on, the requests at the gate are put in an order that does not depend on how they
// got there, and each goes on its way in the engine, as the request of a simulated
// process: latency, faults and the order of its arrival are choices of the run. When the
// answer arrives, the program's goroutine goes on, and the engine waits until nothing in
// the bubble can go on again.
//
//	program ─ RoundTrip ─▶ rest.Handler ─ Call ─▶ gate ─▶ task of a process ─▶ network, API server
//
// A crash ends the program's context and closes its gate: whatever its goroutines still
// do, nobody sees it. Then Start is called again.
//
// # What repeats, and what does not
//
// A run is a function of its choices as far as the program is one of what it is told:
// between two stimuli its goroutines run in any order. Programs on client-go and
// controller-runtime are, but for a few things. Lists from a cache are in the order of a
// map, unless the manager has [Options]. The period of a watch, which client-go
// draws at random, is replaced. math/rand and crypto/rand are seeded. What comes out of
// math/rand/v2 differs from run to run; it does no harm as long as it is not written and
// no decision depends on it. Check runs some seeds twice and says where two runs part.
//
// Informers begin with nothing; see Program.RealLists.
//
// A package-level variable, a metrics registry or a random source is shared by all
// runs, so runs are made one after the other.
package unmodified
