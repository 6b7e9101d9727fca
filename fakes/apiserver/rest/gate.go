package rest

import (
	"context"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// A Gate is the one way from the goroutines that carry HTTP requests to the
// server: it runs fn where the server lives, and returns once fn has returned. It
// fails, without having run fn, when there is no server any more or ctx is done.
// What is run under the gate never waits for a client, and takes no longer than
// one call of the server.
//
// A server that stands alone is safe for concurrent use, and its gate calls fn at
// once. A simulated cluster, which runs in one goroutine, hands fn over to that.
type Gate func(ctx context.Context, fn func()) error

// WithGate sets the gate through which everything passes that touches the server:
// looking resources up, calls, and what the streams of watches do.
func WithGate(gate Gate) Option {
	return func(h *Handler) { h.gate = gate }
}

// open is the gate of a server that may be called by anybody.
func open(ctx context.Context, fn func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fn()
	return nil
}

// call makes a request. A caller of its own may take its time, so it is not
// called under the gate.
func (h *Handler) call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	if h.caller != nil {
		return h.caller.Call(ctx, req)
	}
	var response *apiserver.Response
	var err error
	if gone := h.gate(ctx, func() { response, err = h.server.Do(req) }); gone != nil {
		return nil, errGone(gone)
	}
	return response, err
}

// openWatch opens a watch, in the same way.
func (h *Handler) openWatch(ctx context.Context, req *apiserver.Request) (apiserver.Stream, error) {
	if h.caller != nil {
		return h.caller.OpenWatch(ctx, req)
	}
	var stream apiserver.Stream
	var err error
	if gone := h.gate(ctx, func() { stream, err = h.server.OpenWatch(ctx, req) }); gone != nil {
		return nil, errGone(gone)
	}
	return stream, err
}
