// Package client is controller-runtime's client on top of a fake API server.
//
// [New] takes an apiserver.Caller: a *apiserver.Server in a unit test, the
// simulator's API path (with latency, loss and faults) in a simulation. It
// returns a client.WithWatch whose calls are exactly one request each, whose
// errors are what the server answered, and whose results belong to the caller.
// A call made with a wrong object (no name, no namespace, an unknown type)
// fails before any request is made, as with a real client.
//
//	kind.go    Go type or apiVersion/kind → resource; the RESTMapper
//	read.go    Get and List
//	write.go   Create, Update, Patch, Delete, DeleteAllOf, Apply
//	subresource.go
//	watch.go
//	into.go    from the server's objects to the caller's: one copy, no more
//
// The server's objects are shared and immutable. Reading copies once, straight
// into what the caller gets. Writing copies once on the way in; whoever has no
// use for an object after writing it can spare that too, see [GiveAway].
//
// The client keeps no state of its own, starts no goroutine and takes no lock
// that another call could wait for.
package client
