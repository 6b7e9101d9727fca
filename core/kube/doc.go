// Package kube is the port through which core code meets the Kubernetes API.
//
// [Kube] is a subset of controller-runtime's client.Client, so a real client,
// its fake and the simulator's client satisfy it as they are. [Reader] is the
// part that only reads; a controller says in its constructor which of its reads
// must be live and which may come from a cache, by taking two of them.
//
// [Controller] is a reconcile.Reconciler together with a declaration of what it
// watches and how it retries. Core only declares; realmode hands the
// declaration to a controller-runtime manager and the simulator drives it with
// its own informers and work queues, so both run the same reconciler.
//
// The package makes no request and knows no scheduler.
package kube
