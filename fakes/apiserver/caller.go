package apiserver

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Caller makes API calls. Clients sit on a Caller. A [Server] is one that
// answers at once; a simulator's API path is one that adds latency, loss and
// faults.
type Caller interface {
	// Call makes a request other than a watch. It keeps neither req nor what req
	// points to. The response is good until the caller's next call. An error that the server itself
	// answered is an *apierrors.StatusError; any other error leaves it open
	// whether a write was applied.
	Call(ctx context.Context, req *Request) (*Response, error)

	// OpenWatch opens a watch. Refusals (bad selectors, forbidden, …) are
	// errors; a revision that is too old is an ERROR event in the stream.
	OpenWatch(ctx context.Context, req *Request) (Stream, error)
}

// Stream is an open watch. It never blocks and starts no goroutine.
type Stream interface {
	// Next returns the next event, or false if there is none now. It drains a
	// stream that has ended before it reports false for good.
	Next() (Event, bool)

	// Ended reports that Next will never return another event.
	Ended() bool

	// OnReady sets the function that is called when an event (or the end of the
	// stream) has become available after Next had reported false. If something
	// is available already, it is called at once. It is called from within the
	// write that caused the event and must not write itself.
	OnReady(fn func())

	// Stop ends the stream and drops what was not read. Stopping twice is fine.
	Stop()
}

// Event is one event of a watch.
type Event struct {
	Type watch.EventType

	// Object is the state after the event; for DELETED the last state, with the
	// revision of the deletion; for BOOKMARK an object that holds nothing but
	// kind and resourceVersion (and the annotation that ends initial events).
	// Nil for ERROR. It belongs to the store: read-only.
	Object Object

	// Status is the error of an ERROR event.
	Status *metav1.Status

	// Revision is the store's revision of the event; zero for ERROR.
	Revision uint64
}

var (
	_ Caller = (*Server)(nil)
	_ Stream = (*Watch)(nil)
)
