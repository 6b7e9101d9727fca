// Package cluster is a whole Kubernetes cluster in virtual time: API servers
// over one store, nodes with disks, processes that crash and come back, and
// between them a network that delays and loses.
//
// # What is in it
//
//	Cluster            made by New from a Config; Run runs it
//	Node               a machine: disk, clock, place in the network
//	Process            an operating system process on a node; restarted when it ends
//	Env                all that the code in a process can reach
//	Workload           a DaemonSet or Deployment of processes
//	Instance           one API server
//	Fault, Profile     what goes wrong, how often, when
//
// A process is a function. It gets its clock, its API clients, its disk and its
// random numbers from its Env, and whatever it allocates is its memory: a crash
// ends the function where it waits, a restart calls it again.
//
//	c := cluster.New(cluster.Config{Engine: engine.Config{Source: engine.NewSeed(1)}, Nodes: 3})
//	c.ControlPlane().Process(cluster.ProcessSpec{
//		Name: "manager",
//		Main: func(ctx context.Context, env *cluster.Env) {
//			r := &Reconciler{Client: env.Client}
//			env.Run(ctx, kube.Controller{Name: "things", Reconciler: r, Watches: …})
//		},
//	})
//	c.Run()
//
// # How an API call travels
//
// A call of a client in a process becomes a request (request.go): it leaves the
// process, takes a latency to reach an API server (instance.go), is carried out
// there by fakes/apiserver, and its answer takes a latency back. Each hop is an
// event; at each hop a fault (fault.go, fault_*.go) may strike: the request or
// the answer is lost, the server refuses, the process crashes. What the caller
// sees is what client-go would give it (transport.go), its own retries included.
//
// Watches (session.go) are cursors in the server's history from which events
// flow first in, first out. Reflectors (reflector.go) keep informers
// (informer.go) in step as client-go's do, and a Cache reads informers. So reads
// from a cache are old by as much as the events are late.
//
// An API server may be placed on a node and started with the flags of encryption at rest
// (instance_start.go): it loads a file of the node's disk, uses the KMS plugins on the
// node's sockets, and does not come up if it cannot load the file.
//
// Controllers (controller.go, workqueue/) are driven as controller-runtime
// drives them. Reconcilers and everything else that the user writes run as
// tasks; all the machinery described here is callbacks.
//
// # What it is not
//
// It has no goroutines, no real time and no real network. There is no scheduler
// and no container runtime: a Pod object is a shadow of a simulated process. It
// knows no properties and no seeds; those are package sim.
package cluster
