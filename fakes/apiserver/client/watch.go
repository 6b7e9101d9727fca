package client

import (
	"context"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// watchLag is how many events a watcher may be behind.
const watchLag = 1000

// Watch implements client.WithWatch.
//
// Events are put into the result channel by the write that causes them, since
// the client starts no goroutine. A receiver that falls more than 1000 events
// behind (not counting those that are there from the beginning) is cut off: its
// channel is closed, as a real server closes the connection of one that is too
// slow. The same happens when ctx ends.
func (c *Client) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	k, err := c.kind(list)
	if err != nil {
		return nil, err
	}
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	req := c.request(apiserver.WatchVerb, k, o.Namespace, "")
	setListOptions(req, &o)
	stream, err := c.caller.OpenWatch(ctx, req)
	if err != nil {
		return nil, err
	}
	w := &watcher{ctx: ctx, client: c, kind: k, list: list, stream: stream}
	w.open()
	// Only contexts of the standard library can be waited for without a
	// goroutine; with others it is the Caller that ends the stream.
	if _, ok := c.caller.(*apiserver.Server); ok {
		context.AfterFunc(ctx, w.Stop)
	}
	return w, nil
}

// watcher is a watch.Interface over a stream.
type watcher struct {
	ctx    context.Context
	client *Client
	kind   *apiserver.Resource
	list   client.ObjectList // only its type counts
	stream apiserver.Stream

	mu     sync.Mutex
	result chan watch.Event
	closed bool
}

var _ watch.Interface = (*watcher)(nil)

// open sends what is there already, whatever its number, and then follows.
func (w *watcher) open() {
	var first []watch.Event
	for {
		ev, ok := w.stream.Next()
		if !ok {
			break
		}
		first = append(first, w.event(ev))
	}
	w.result = make(chan watch.Event, len(first)+watchLag)
	for _, ev := range first {
		w.result <- ev
	}
	w.stream.OnReady(w.pump)
	w.pump()
}

// pump moves events from the stream into the channel, and closes it at the end.
func (w *watcher) pump() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed {
		ev, ok := w.stream.Next()
		if !ok {
			if w.stream.Ended() || w.ctx.Err() != nil {
				w.close()
			}
			return
		}
		select {
		case w.result <- w.event(ev):
		default:
			w.close()
		}
	}
}

// close ends the watch. The lock is held.
func (w *watcher) close() {
	if !w.closed {
		w.closed = true
		close(w.result)
	}
}

// Stop implements watch.Interface.
func (w *watcher) Stop() {
	w.mu.Lock()
	w.close()
	w.mu.Unlock()
	w.stream.Stop()
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// event turns a server's event into one whose object belongs to the receiver.
func (w *watcher) event(ev apiserver.Event) watch.Event {
	if ev.Type == watch.Error {
		return watch.Event{Type: ev.Type, Object: ev.Status.DeepCopy()}
	}
	obj := w.empty(ev.Object)
	if err := w.client.into(obj, ev.Object, true); err != nil {
		return watch.Event{Type: watch.Error, Object: &metav1.Status{
			Status: metav1.StatusFailure, Code: 500, Message: err.Error(),
		}}
	}
	return watch.Event{Type: ev.Type, Object: obj}
}

// empty is a new object of the sort that the list holds.
func (w *watcher) empty(like apiserver.Object) client.Object {
	var obj client.Object
	switch w.list.(type) {
	case runtime.Unstructured:
		obj = &unstructured.Unstructured{Object: map[string]any{}}
		obj.GetObjectKind().SetGroupVersionKind(w.kind.GVK())
	case *metav1.PartialObjectMetadataList:
		obj = &metav1.PartialObjectMetadata{}
		obj.GetObjectKind().SetGroupVersionKind(w.kind.GVK())
	default:
		if made, err := w.client.scheme.New(w.kind.GVK()); err == nil {
			if typed, ok := made.(client.Object); ok {
				return typed
			}
		}
		obj = reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
	}
	return obj
}
