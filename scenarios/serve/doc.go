// Package serve puts a simulated cluster on the network, so that real clients find an
// ordinary Kubernetes cluster there: kubectl, a controller on client-go, a load test.
//
//	server, err := serve.Start(serve.Options{Registry: registry, World: serve.World{Nodes: 3}})
//	…
//	client, err := kubernetes.NewForConfig(server.Config())
//	…
//	summary, err := server.Stop()
//
// # What is in it
//
//	World    what the cluster is made of: a scenario, or empty nodes; it is all that
//	         a journal needs to build the same again
//	Server   the running cluster, with TLS and a token of its own
//	Client   the client of the debug API, as seedbed ctl uses it
//
// A request passes through TLS and the token, fakes/apiserver/rest, which speaks the
// protocol, and sim/live, which lets it enter the run.
//
// # The debug API
//
// Below /debug/seedbed/ the simulation itself can be looked at and steered, with the
// token of the administrator. Everything is JSON; an error is {"error": "…"}.
//
//	GET    state             virtual time, speed, hash, counts
//	POST   pause, resume     let virtual time stand still, or pass
//	POST   speed?to=S        real, max or a number
//	POST   step?by=D         let D of virtual time pass at once; answers when it has
//	GET    faults            the faults that may strike now
//	GET    faults/kinds      the kinds of fault there are, with their knobs
//	POST   faults            switch one on; the body is as of a startFault step
//	DELETE faults, faults/N  switch all off, or number N
//	GET    trace?after=N     the latest events of the trace after step N, JSON lines
//	GET    properties        how things stand with each property of the scenario
//
// # What it is not
//
// The cluster has no container runtime: Pods run in name only. There are no logs, exec
// and port-forward, which answer 501.
package serve
