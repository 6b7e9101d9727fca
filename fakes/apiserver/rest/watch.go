package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// watchBody is the body of a watch: one JSON object per event and line. Read
// takes events from the stream and blocks while there are none; it ends with
// the stream, the request's context, or timeoutSeconds.
//
// One goroutine may read; Close may be called by any.
type watchBody struct {
	stream  apiserver.Stream
	encode  *encoder
	pending bytes.Buffer
	ready   chan struct{} // one token: the stream may have something
	done    <-chan struct{}
	timer   *time.Timer  // nil: no timeout
	ticker  *time.Ticker // nil: no bookmarks
	closed  context.CancelFunc
}

// bookmarkPeriod is how often an idle watch that allows bookmarks gets one.
const bookmarkPeriod = time.Minute

// bookmarker is a stream that can be asked for a bookmark.
type bookmarker interface{ Bookmark() bool }

func newWatchBody(ctx context.Context, stream apiserver.Stream, encode *encoder, req *apiserver.Request) *watchBody {
	ctx, cancel := context.WithCancel(ctx)
	b := &watchBody{stream: stream, encode: encode, ready: make(chan struct{}, 1), done: ctx.Done(), closed: cancel}
	if s := req.TimeoutSeconds; s != nil && *s > 0 {
		b.timer = time.NewTimer(time.Duration(*s) * time.Second)
	}
	if _, ok := stream.(bookmarker); ok && req.AllowWatchBookmarks {
		b.ticker = time.NewTicker(bookmarkPeriod)
	}
	// The stream calls this from within the write that made the event.
	stream.OnReady(func() {
		select {
		case b.ready <- struct{}{}:
		default:
		}
	})
	return b
}

// Read implements io.Reader.
func (b *watchBody) Read(p []byte) (int, error) {
	for b.pending.Len() == 0 {
		more, err := b.next()
		if err != nil || !more {
			return 0, err
		}
	}
	return b.pending.Read(p)
}

// next puts the next event into pending, waiting for it. It returns io.EOF when
// there will be none.
func (b *watchBody) next() (bool, error) {
	for {
		select {
		case <-b.done:
			return false, io.EOF
		default:
		}
		if ev, ok := b.stream.Next(); ok {
			return true, b.write(ev)
		}
		if b.stream.Ended() {
			return false, io.EOF
		}
		if !b.wait() {
			return false, io.EOF
		}
	}
}

// wait blocks until the stream may have something; false if the watch is over.
func (b *watchBody) wait() bool {
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
		b.stream.(bookmarker).Bookmark()
		return true
	case <-b.done:
	case <-timeout:
		// A later Read must end as well, and the timer fires only once.
		b.closed()
	}
	return false
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	b.closed()
	b.stream.Stop()
	if b.timer != nil {
		b.timer.Stop()
	}
	if b.ticker != nil {
		b.ticker.Stop()
	}
	return nil
}

func (b *watchBody) write(ev apiserver.Event) error {
	object, err := b.eventObject(ev)
	if err != nil {
		return err
	}
	fmt.Fprintf(&b.pending, `{"type":%q,"object":%s}`+"\n", ev.Type, object)
	return nil
}

func (b *watchBody) eventObject(ev apiserver.Event) ([]byte, error) {
	if ev.Type == watch.Error {
		status := *ev.Status
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		return json.Marshal(&status)
	}
	switch b.encode.format.convert {
	case asMetadataList: // an informer of metadata lists and watches with one header
		return b.encode.metadata(ev.Object)
	case asTable:
		defer func() { b.encode.table.noHeaders = true }()
	}
	return b.encode.object(ev.Object)
}
