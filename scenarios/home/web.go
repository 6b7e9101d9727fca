package home

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/fakes/issuer"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/network"
)

// issuerURL is where the controller is.
const issuerURL = "https://controller.example.com"

var (
	errRefused = errors.New("connection refused")
	errBroken  = errors.New("connection reset by peer")
)

// start makes the issuer.
func (c *controller) start(s *State) {
	c.issuer = issuer.New(issuer.Config{URL: issuerURL, Clock: timeless{s.world.Engine()}, Lease: s.config.Lease.Std()})
}

// timeless is the issuer's clock. It never sleeps: the network takes the time.
type timeless struct{ eng *engine.Engine }

// Now implements issuer.Clock.
func (t timeless) Now() time.Time { return t.eng.Now() }

// Sleep implements issuer.Clock.
func (timeless) Sleep(context.Context, time.Duration) error { return nil }

// newToken returns a bearer token that nobody has had yet.
func (s *State) newToken() string {
	s.controller.tokens++
	secret := make([]byte, 24)
	if _, err := io.ReadFull(s.world.Engine().Entropy(fmt.Sprintf("token-%d", s.controller.tokens)), secret); err != nil {
		panic("home: entropy: " + err.Error())
	}
	token := hex.EncodeToString(secret)
	s.leaks.AddToken("token of a Pod", token)
	return token
}

// web is grant.Web over the simulated network: a connection for each request, from the
// Pod's node to the control plane's machine, where the issuer listens.
type web struct {
	state *State
	host  string
	proc  *engine.Process
}

// exchange is one request with its answer.
type exchange struct {
	web  *web
	req  grant.Request
	conn *network.Conn
	wait *engine.Wait
	done bool
	resp grant.Response
	err  error
}

// Get implements grant.Web.
func (w *web) Get(ctx context.Context, req grant.Request) (grant.Response, error) {
	x := &exchange{web: w, req: req}
	err := w.proc.Await(ctx, engine.Op{Verb: "https", Key: req.URL}, func(wait *engine.Wait) {
		x.wait = wait
		x.conn = w.state.world.Cluster.Network().Dial(w.host, controlPlane)
		x.conn.OnBreak(w.host, func(error) { x.finish(grant.Response{}, errBroken) })
		if err := x.conn.Send(w.host, w.state.controller.serve, x); err != nil {
			x.finish(grant.Response{}, errBroken)
		}
	})
	if err != nil {
		x.done = true
		return grant.Response{}, fmt.Errorf("get %s: %w", req.URL, err)
	}
	if x.err != nil {
		return grant.Response{}, fmt.Errorf("get %s: %w", req.URL, x.err)
	}
	return x.resp, nil
}

const controlPlane = "control-plane"

// finish hands the answer to who waits for it.
func (x *exchange) finish(resp grant.Response, err error) {
	if x.done {
		return
	}
	x.done = true
	x.resp, x.err = resp, err
	x.wait.Done()
}

// serve answers a request that has arrived at the issuer.
func (c *controller) serve(arg any) {
	x := arg.(*exchange)
	s := x.web.state
	switch {
	case c.silent:
		return
	case c.down:
		x.reply(grant.Response{}, errRefused)
		return
	}
	if bearer := string(x.req.Bearer.Reveal()); bearer != "" && !s.bound(bearer) {
		c.issuer.Distrust(bearer) // its Pod is gone
	}
	resp, err := c.issuer.Get(context.Background(), x.req)
	if err == nil && resp.Status == 200 && x.req.Bearer.Len() > 0 {
		s.learnGrant(string(resp.Body))
	}
	d := s.world.Engine().Stream("issuer", "latency").Duration(engine.Dist{Min: c.latency.Min, Max: c.latency.Max})
	s.world.Engine().After(d, func(any) { x.reply(resp, err) }, nil)
}

// reply sends the answer back. A connection that is broken by now needs none.
func (x *exchange) reply(resp grant.Response, err error) {
	_ = x.conn.Send(controlPlane, func(any) { x.finish(resp, err) }, nil)
}

// bound reports whether a token's Pod is still there.
func (s *State) bound(token string) bool {
	owner := s.controller.owners[token]
	return owner != nil && !owner.gone
}
