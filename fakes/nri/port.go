package nri

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/seedbed-sim/seedbed/core/cloak/nri"
	"github.com/seedbed-sim/seedbed/core/clock"
)

// Port is the runtime as a plugin's process sees it.
type Port struct {
	r     *Runtime
	clock clock.Clock
	conn  *conn
}

var _ nri.Runtime = (*Port)(nil)

// Port returns the runtime for a process with a clock. Its owner calls Gone when the
// process ends.
func (r *Runtime) Port(c clock.Clock) *Port { return &Port{r: r, clock: c} }

// Gone ends the connection of a process that has ended.
func (p *Port) Gone() {
	if p.conn != nil {
		p.conn.close()
	}
}

// request is one that waits for the plugin.
type request struct {
	call     func(context.Context, nri.Handler)
	answered clock.Signal // of the runtime's process; nil if it does not wait
}

// conn is a connection of a plugin.
type conn struct {
	r     *Runtime
	came  clock.Signal // of the plugin's process
	queue []*request
	asked []*request // without an answer

	busy    bool // a request that the runtime waits for is with the plugin
	waiting []clock.Signal
	closed  bool
}

func (c *conn) send(q *request) {
	if c.closed {
		q.answer()
		return
	}
	c.queue = append(c.queue, q)
	c.came.Send()
}

func (q *request) answer() {
	if q.answered != nil {
		q.answered.Send()
	}
}

// done lets those have their turn who wait for it.
func (c *conn) done() {
	c.busy = false
	waiting := c.waiting
	c.waiting = nil
	for _, free := range waiting {
		free.Send()
	}
}

// close ends the connection; the runtime waits for no answer any more.
func (c *conn) close() {
	if c.closed {
		return
	}
	c.closed = true
	if c.r.conn == c {
		c.r.conn = nil
	}
	for _, q := range append(c.queue, c.asked...) {
		q.answer()
	}
	c.queue, c.asked = nil, nil
	c.done()
	c.came.Send()
}

// Serve implements nri.Runtime.
func (p *Port) Serve(ctx context.Context, socket string, h nri.Handler) error {
	if p.r.absent {
		return fmt.Errorf("connect to %s: %w", socket, fs.ErrNotExist)
	}
	p.r.HangUp() // the plugin of before, if it is still there
	c := &conn{r: p.r, came: p.clock.NewSignal()}
	p.conn, p.r.conn = c, c
	defer c.close()
	sandboxes, containers := p.r.known()
	c.send(&request{call: func(ctx context.Context, h nri.Handler) { h.Synchronize(ctx, sandboxes, containers) }})
	tasks := p.clock.NewGroup(ctx)
	for {
		for len(c.queue) > 0 {
			q := c.queue[0]
			c.queue, c.asked = c.queue[1:], append(c.asked, q)
			tasks.Go("request", func(ctx context.Context) {
				q.call(ctx, h)
				q.answer()
			})
		}
		if c.closed {
			return io.EOF
		}
		if err := c.came.Wait(ctx); err != nil {
			return err
		}
	}
}
