package rest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

const (
	// bookmarkPeriod is how often an idle watch that allows bookmarks gets one.
	bookmarkPeriod = time.Minute

	// batchEvents is how many events are taken from a stream at once, and
	// chunkBytes about how much is written at once: what one watch holds.
	batchEvents = 64
	chunkBytes  = 32 << 10
)

// bookmarker is a stream that can be asked for a bookmark.
type bookmarker interface{ Bookmark() bool }

// watchBody is the body of a watch: one frame per event. Reading takes events
// from the stream and blocks while there are none; it ends with the stream, the
// request's context, or timeoutSeconds.
//
// What has not been read yet stays in the stream, which ends by itself when its
// reader falls too far behind.
//
// One goroutine may read; Close may be called by any.
type watchBody struct {
	handler *Handler
	ctx     context.Context
	cancel  context.CancelFunc
	stream  apiserver.Stream
	encode  *encoder
	events  []apiserver.Event // taken from the stream and not yet encoded
	ended   bool              // the stream has nothing more
	pending bytes.Buffer
	ready   chan struct{} // one token: the stream may have something
	timer   *time.Timer   // nil: no timeout
	ticker  *time.Ticker  // nil: no bookmarks
	close   sync.Once
}

func newWatchBody(ctx context.Context, h *Handler, stream apiserver.Stream, e *encoder, timeout time.Duration, bookmarks bool) *watchBody {
	ctx, cancel := context.WithCancel(ctx)
	b := &watchBody{handler: h, ctx: ctx, cancel: cancel, stream: stream, encode: e, ready: make(chan struct{}, 1)}
	if timeout > 0 {
		b.timer = time.NewTimer(timeout)
	}
	if _, ok := stream.(bookmarker); ok && bookmarks {
		b.ticker = time.NewTicker(bookmarkPeriod)
	}
	// The stream calls this from within the write that made the event.
	b.enter(func() {
		stream.OnReady(func() {
			select {
			case b.ready <- struct{}{}:
			default:
			}
		})
	})
	return b
}

// enter does something with the stream; false if there is no server any more.
func (b *watchBody) enter(fn func()) bool { return b.handler.gate(b.ctx, fn) == nil }

// Read implements io.Reader.
func (b *watchBody) Read(p []byte) (int, error) {
	if b.pending.Len() == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	return b.pending.Read(p)
}

// next fills pending with the frames of what has happened, waiting for it. It
// returns io.EOF when there will be nothing more.
func (b *watchBody) next() error {
	b.pending.Reset()
	if b.pending.Cap() > 2*chunkBytes { // one large object is no reason to keep its room
		b.pending = bytes.Buffer{}
	}
	for {
		if b.ctx.Err() != nil {
			return io.EOF
		}
		for len(b.events) > 0 && b.pending.Len() < chunkBytes {
			ev := b.events[0]
			b.events[0] = apiserver.Event{}
			b.events = b.events[1:]
			if err := b.write(ev); err != nil {
				return err
			}
		}
		switch {
		case b.pending.Len() > 0:
			return nil
		case b.ended, !b.take(), len(b.events) == 0 && !b.ended && !b.wait():
			return io.EOF
		}
	}
}

// take moves events from the stream to events; false if there is no server any
// more.
func (b *watchBody) take() bool {
	b.events = b.events[:0]
	return b.enter(func() {
		for len(b.events) < batchEvents {
			ev, ok := b.stream.Next()
			if !ok {
				b.ended = b.stream.Ended()
				return
			}
			b.events = append(b.events, ev)
		}
	})
}

// wait blocks until the stream may have something; false if the watch is over.
func (b *watchBody) wait() bool {
	b.events = nil // idle watches hold as little as may be
	var timeout, bookmark <-chan time.Time
	if b.timer != nil {
		timeout = b.timer.C
	}
	if b.ticker != nil {
		bookmark = b.ticker.C
	}
	select {
	case <-b.ready:
		return true
	case <-bookmark:
		return b.enter(func() { b.stream.(bookmarker).Bookmark() })
	case <-b.ctx.Done():
	case <-timeout:
		// A later Read must end as well, and the timer fires only once.
		b.cancel()
	}
	return false
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	b.close.Do(func() {
		b.cancel()
		// The request may be over, but the stream still has to be let go.
		_ = b.handler.gate(context.WithoutCancel(b.ctx), b.stream.Stop)
		if b.timer != nil {
			b.timer.Stop()
		}
		if b.ticker != nil {
			b.ticker.Stop()
		}
	})
	return nil
}

// write adds the frame of an event to pending.
func (b *watchBody) write(ev apiserver.Event) error {
	object, err := b.eventObject(ev)
	if err != nil {
		return err
	}
	if b.encode.format.media == asProtobuf {
		protobufFrame(&b.pending, string(ev.Type), object)
		return nil
	}
	b.pending.WriteString(`{"type":"`)
	b.pending.WriteString(string(ev.Type))
	b.pending.WriteString(`","object":`)
	b.pending.Write(object)
	b.pending.WriteString("}\n")
	return nil
}

func (b *watchBody) eventObject(ev apiserver.Event) ([]byte, error) {
	switch {
	case ev.Type == watch.Error:
		return b.encode.format.status(*ev.Status)
	case b.encode.format.is(asTable): // shows how long ago things were
		defer func() { b.encode.table.noHeaders = true }()
		return b.encode.object(ev.Object)
	case ev.Type == watch.Bookmark: // nobody else gets this object
		return b.encode.event(ev.Object)
	}
	return b.handler.shared.get(b.encode, ev.Object)
}

// event is the object of an event. An informer of metadata lists and watches
// with one header, so a list may be asked for.
func (e *encoder) event(obj apiserver.Object) ([]byte, error) {
	if e.format.is(asMetadataList) {
		return e.metadata(obj)
	}
	return e.object(obj)
}

// watch opens a watch and answers with its stream. How long it may take is the
// business of the connection, so the server is not told.
func (h *Handler) watch(r *http.Request, req *apiserver.Request, e *encoder) (*answer, error) {
	var timeout time.Duration
	if s := req.TimeoutSeconds; s != nil && *s > 0 {
		timeout = time.Duration(*s) * time.Second
	}
	req.TimeoutSeconds = nil
	stream, err := h.openWatch(r.Context(), req)
	if err != nil {
		return nil, err
	}
	kind := e.format.media.String()
	if e.format.media == asProtobuf {
		kind += ";stream=watch"
	}
	return &answer{
		code:   http.StatusOK,
		header: contentType(kind),
		stream: newWatchBody(r.Context(), h, stream, e, timeout, req.AllowWatchBookmarks),
	}, nil
}
