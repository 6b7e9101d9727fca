package kube

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Controller is a reconciler and what it needs to be driven. The driver
//
//  1. opens every watch and waits until all of them have listed once,
//  2. enqueues the Start requests,
//  3. calls Reconcile for each distinct request in the queue, never two calls
//     for the same request at once and never more than Workers in all,
//  4. on a nil error forgets the request's failures and honours RequeueAfter;
//     on reconcile.TerminalError forgets them and does not retry; on any other
//     error enqueues the request again after Backoff.
type Controller struct {
	// Name appears in logs, metrics and traces; unique within a process.
	Name string

	Reconciler reconcile.Reconciler

	// Watches says which objects trigger a reconcile. All of them are also
	// readable from the process's cache.
	Watches []Watch

	// Start holds requests enqueued once the watches have synced, for state
	// whose absence makes no event.
	Start []reconcile.Request

	// Backoff is the delay between failed attempts at one request. The zero
	// value means controller-runtime's default: 5 ms doubling to 1000 s.
	Backoff Backoff

	// Workers is the number of requests reconciled at once; zero means one.
	Workers int
}

// Watch declares a set of objects of one kind.
type Watch struct {
	// Object gives the kind; its content is not used.
	Object client.Object

	// Namespace and Name narrow the watch; empty means all. Name becomes an
	// exact metadata.name field selector on both list and watch, which is what
	// RBAC rules with resourceNames need.
	Namespace, Name string

	// Selector narrows the watch by labels; nil means all.
	Selector labels.Selector

	// Fields narrows the watch by those fields that the API server selects the kind by,
	// as spec.nodeName of Pods; nil means all. Reads from the cache do not see what
	// no watch of the process selects.
	Fields fields.Selector

	// Requests maps an object seen in an event to requests; on an update it is
	// called for the old and the new object. Nil means the object's own name.
	Requests func(ctx context.Context, obj client.Object) []reconcile.Request
}

// Backoff is a per-request exponential delay without jitter: Base, 2·Base,
// 4·Base, … up to Max.
type Backoff struct {
	Base, Max time.Duration
}
