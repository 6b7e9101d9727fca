package drive

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/clock"
	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// Home is what is driven; *home.Home is one.
type Home interface {
	Grants(ctx context.Context) (*home.Lane, error)
	Devices(ctx context.Context, g grant.Grant) (home.DeviceChannel, func(), error)
	PublishReady(ctx context.Context, grantUID string, ready bool) error
}

// Verifier says what is genuine; *grant.Verifier is one.
type Verifier interface {
	Verify(ctx context.Context, token secret.Bytes) (grant.Grant, error)
}

// Driver admits to an agent what a home feeds. All but Log are required.
//
// Before the home's Run and the driver's are started, the agent should be told of
// losses: home.OnScopeLost(agent.ScopeLost).
type Driver struct {
	Home     Home
	Agent    *Agent
	Verifier Verifier
	Clock    clock.Clock
	Log      logr.Logger

	// unverified are tokens that may be genuine, by the id they say they have.
	unverified []waiting
}

type waiting struct {
	uid   string
	token secret.Bytes
}

// Run drives the agent until ctx ends. It returns an error only if it could not begin.
// It may be called once.
func (d *Driver) Run(ctx context.Context) error {
	lane, err := d.Home.Grants(ctx)
	if err != nil {
		return fmt.Errorf("open the grant lane: %w", err)
	}
	for {
		ev, err := d.next(ctx, lane)
		if ctx.Err() != nil || errors.Is(err, home.ErrLaneClosed) {
			return nil //nolint:nilerr // this is how it ends
		}
		if err == nil {
			d.handle(ctx, ev)
		}
		d.reap(ctx)
		d.verifyAgain(ctx)
	}
}

// next waits for an event, but no longer than until leases are to be looked at.
func (d *Driver) next(ctx context.Context, lane *home.Lane) (home.GrantEvent, error) {
	ctx, cancel := d.Clock.WithTimeout(ctx, reapInterval)
	defer cancel()
	if lane == nil {
		if err := d.Clock.Sleep(ctx, 2*reapInterval); err != nil {
			return home.GrantEvent{}, err
		}
	}
	return lane.Next(ctx)
}

func (d *Driver) handle(ctx context.Context, ev home.GrantEvent) {
	switch ev.Kind {
	case home.GrantAdded:
		uid := ""
		if p, err := grant.Peek(ev.Token.Reveal()); err == nil {
			uid = p.UID
		}
		d.forget(uid)
		if !d.admit(ctx, ev.Token) {
			d.unverified = append(d.unverified, waiting{uid, ev.Token})
		}
	case home.GrantRemoved:
		d.forget(ev.UID)
		d.Agent.Revoke(ctx, ev.UID)
		d.publish(ctx, ev.UID, false)
	}
}

// forget drops a token that waits to be verified, since there is newer word.
func (d *Driver) forget(uid string) {
	kept := d.unverified[:0]
	for _, w := range d.unverified {
		if w.uid != uid {
			kept = append(kept, w)
		}
	}
	d.unverified = kept
}

// verifyAgain tries the tokens for which there were no keys.
func (d *Driver) verifyAgain(ctx context.Context) {
	tokens := d.unverified
	d.unverified = nil
	for _, w := range tokens {
		if !d.admit(ctx, w.token) {
			d.unverified = append(d.unverified, w)
		}
	}
}

// admit admits a grant and says that it is warm. It reports false if it should be
// tried again, because nobody could tell whether the grant is genuine.
func (d *Driver) admit(ctx context.Context, token secret.Bytes) bool {
	g, err := d.Verifier.Verify(ctx, token)
	if err != nil {
		d.Log.Info("A grant is not admitted", "reason", err.Error())
		return !errors.Is(err, grant.ErrUnverifiable)
	}
	channel, release, err := d.Home.Devices(ctx, g)
	if err != nil {
		d.Log.Info("A grant is not admitted", "grant", g.UID, "reason", err.Error())
		return true
	}
	defer release()
	if err := d.Agent.Admit(ctx, g, channel); err != nil {
		d.Log.Info("A grant is not admitted", "grant", g.UID, "reason", err.Error())
		return true
	}
	d.publish(ctx, g.UID, true)
	return true
}

// reap drops the grants whose leases have ended.
func (d *Driver) reap(ctx context.Context) {
	for _, uid := range d.Agent.lapsed() {
		d.Log.Info("The lease of a grant has ended", "grant", uid)
		d.Agent.cfg.Templates.Cool(ctx, uid)
		d.publish(ctx, uid, false)
	}
}

// publish tells the home, which sets the condition sooner or later, whatever it
// returns now.
func (d *Driver) publish(ctx context.Context, uid string, ready bool) {
	if err := d.Home.PublishReady(ctx, uid, ready); err != nil && ctx.Err() == nil {
		d.Log.Info("The readiness is not published yet", "grant", uid, "ready", ready, "error", err.Error())
	}
}
