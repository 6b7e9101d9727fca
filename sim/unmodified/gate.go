package unmodified

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// gate is where the requests of one incarnation of a program stop. It is the Caller of
// the program's HTTP handler; its methods are called on the program's goroutines.
type gate struct {
	bubble *bubble
	to     *incarnation

	mu     sync.Mutex
	closed bool
}

// call is a request at a gate, or on its way.
type call struct {
	to    *incarnation
	ctx   context.Context
	order string // among the calls at all gates
	req   *apiserver.Request
	watch bool

	// cancel ends it in the engine, once it is there.
	cancel context.CancelFunc
	given  bool // nobody waits for the answer

	done   chan struct{}
	resp   *apiserver.Response
	stream *stream
	err    error
}

// errGone is what a program gets from a gate that is closed.
var errGone error = &url.Error{Op: "dial", Err: errRefused}

// Call implements apiserver.Caller.
func (g *gate) Call(ctx context.Context, req *apiserver.Request) (*apiserver.Response, error) {
	c, err := g.pass(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return c.resp, c.err
}

// OpenWatch implements apiserver.Caller.
func (g *gate) OpenWatch(ctx context.Context, req *apiserver.Request) (apiserver.Stream, error) {
	c, err := g.pass(ctx, req, true)
	switch {
	case err != nil:
		return nil, err
	case c.err != nil:
		return nil, c.err
	}
	return c.stream, nil
}

// pass leaves a request at the gate and waits for the answer.
func (g *gate) pass(ctx context.Context, req *apiserver.Request, watch bool) (*call, error) {
	if g.isClosed() {
		time.Sleep(time.Second) // whoever tries again at once must not do so for ever
		return nil, errGone
	}
	if !watch && ctx.Value(reviewKey{}) != nil {
		c := &call{}
		c.resp, c.err = g.direct(req)
		return c, nil
	}
	own := *req
	c := &call{to: g.to, ctx: ctx, order: order(g.to, req), req: &own, watch: watch, done: make(chan struct{})}
	g.bubble.park(c)
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-g.to.over.Done():
	}
	// When several of these have happened it must not be chance that decides.
	switch {
	case g.to.over.Err() != nil:
		return nil, errGone
	case ctx.Err() != nil:
		g.act(c.order, c.giveUp)
		return nil, ctx.Err()
	default:
		return c, nil
	}
}

func (g *gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// act has something done in the engine, unless the gate is closed: what is left of a
// program after its end has no say any more.
func (g *gate) act(order string, do func()) {
	if !g.isClosed() {
		g.bubble.act(order, do)
	}
}

// order is where a request stands among those that came to the gates together. Equal
// ones are alike.
func order(to *incarnation, req *apiserver.Request) string {
	body := ""
	if data, err := json.Marshal(req); err == nil {
		body = string(data)
	}
	return fmt.Sprintf("%s\x00%v\x00%s\x00%s\x00%s\x00%s\x00%s", to.name, req.Verb, req.Resource, req.Namespace, req.Name, req.Subresource, body)
}

// giveUp ends a call whose caller has gone. It is called in the engine.
func (c *call) giveUp() {
	c.given = true
	if c.cancel != nil {
		c.cancel()
	}
	if c.stream != nil {
		c.stream.end()
	}
}

// answer lets the program's goroutine go on. It is called in the engine.
func (c *call) answer(resp *apiserver.Response, err error) {
	if resp != nil {
		// The engine's own is good until the next request of any of its tasks.
		own := *resp
		own.Items = slices.Clone(resp.Items)
		own.Warnings = slices.Clone(resp.Warnings)
		c.resp = &own
	}
	c.err = err
	c.to.runner.bubble.stimuli = append(c.to.runner.bubble.stimuli, func() { close(c.done) })
}
