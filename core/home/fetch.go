package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
)

const (
	grantPath = "/v1/grant"

	attemptMax  = 10 * time.Second // how long one attempt may take
	retryFirst  = 500 * time.Millisecond
	retryMax    = 5 * time.Second
	renewFirst  = time.Second
	renewMax    = 30 * time.Second
	tokenLimit  = 64 << 10 // of the service account's token
	caFileLimit = 4 << 20
)

var (
	errNoGrant   = errors.New("no grant for this Pod came")
	errStatus    = errors.New("the controller answered with another status than 200")
	errTooLarge  = errors.New("the grant is larger than 8 KiB")
	errOtherPod  = errors.New("the grant is another Pod's")
	errExpired   = errors.New("the grant has expired already")
	errEmptyFile = errors.New("the file is empty")
)

// attemptError is why an attempt to fetch failed, and when the next one is wanted.
type attemptError struct {
	err   error
	after time.Duration // zero: the controller did not say
}

func (e *attemptError) Error() string { return e.err.Error() }
func (e *attemptError) Unwrap() error { return e.err }

// firstFetch fetches the Pod's grant, until it has one or time is up.
func (h *Home) firstFetch(ctx context.Context) error {
	if err := h.cfg.Files.MkdirAll(ctx, h.cfg.GrantsDir); err != nil {
		return fmt.Errorf("make the grants directory %s: %w", h.cfg.GrantsDir, err)
	}
	if err := h.checkRoots(ctx); err != nil {
		return err
	}
	h.removeStaleTemp(ctx)
	until := h.clock.Monotonic() + h.cfg.GrantFetchTimeout
	var last error
	for delay := retryFirst; ; delay = min(2*delay, retryMax) {
		left := until - h.clock.Monotonic()
		if left <= 0 {
			return h.fallBack(ctx, last)
		}
		err := h.fetch(ctx, min(attemptMax, left))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			return nil
		}
		last = err
		h.log.Info("Cannot fetch the grant yet", "reason", err.Error())
		pause := h.cfg.Jitter(min(max(delay, wanted(err)), retryMax))
		if h.clock.Sleep(ctx, min(pause, until-h.clock.Monotonic())) != nil {
			return context.Cause(ctx)
		}
	}
}

// wanted is how long the controller wants to be left alone.
func wanted(err error) time.Duration {
	var a *attemptError
	if errors.As(err, &a) {
		return a.after
	}
	return 0
}

// checkRoots finds a bundle of certificates that can be of no use before it is too late.
func (h *Home) checkRoots(ctx context.Context) error {
	if h.cfg.GrantCAFile == "" {
		return nil
	}
	roots, err := h.cfg.Files.ReadFile(ctx, h.cfg.GrantCAFile, caFileLimit)
	if err != nil {
		return fmt.Errorf("read the CA file of the controller: %w", err)
	}
	if err := grant.CheckRoots(roots); err != nil {
		return fmt.Errorf("CA file %s of the controller: %w", h.cfg.GrantCAFile, err)
	}
	return nil
}

// fallBack makes do with a grant that is in the directory.
func (h *Home) fallBack(ctx context.Context, last error) error {
	token, p, err := h.leftover(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w within %s, and %w: %w", errNoGrant, h.cfg.GrantFetchTimeout, err, last)
	}
	h.lease.find(token, p)
	h.log.Info("Starts with the grant that is in the directory", "reason", last.Error())
	return nil
}

// fetch makes one attempt: it asks for the Pod's grant and writes it.
func (h *Home) fetch(ctx context.Context, limit time.Duration) error {
	ctx, cancel := h.clock.WithTimeout(ctx, limit)
	defer cancel()
	token, p, err := h.request(ctx)
	if err != nil {
		return err
	}
	if err := h.writeGrant(ctx, token); err != nil {
		return fmt.Errorf("write the grant: %w", err)
	}
	h.lease.take(token, p, h.clock.Now(), h.clock.Monotonic())
	return nil
}

// request asks the controller for the grant. The token of the Pod is read each time,
// since the kubelet replaces it, and the certificates, since somebody may.
func (h *Home) request(ctx context.Context) (secret.Bytes, grant.Peeked, error) {
	bearer, err := h.cfg.Files.ReadFile(ctx, h.cfg.GrantTokenFile, tokenLimit)
	if err != nil {
		return secret.Bytes{}, grant.Peeked{}, fmt.Errorf("read the Pod's token: %w", err)
	}
	if bearer = bytes.TrimSpace(bearer); len(bearer) == 0 {
		return secret.Bytes{}, grant.Peeked{}, fmt.Errorf("read the Pod's token: %w", errEmptyFile)
	}
	req := grant.Request{URL: h.cfg.GrantIssuerURL + grantPath, Bearer: secret.New(bearer), Limit: grant.TokenMax + 1}
	if h.cfg.GrantCAFile != "" {
		if req.Roots, err = h.cfg.Files.ReadFile(ctx, h.cfg.GrantCAFile, caFileLimit); err != nil {
			return secret.Bytes{}, grant.Peeked{}, fmt.Errorf("read the CA file of the controller: %w", err)
		}
	}
	resp, err := h.cfg.Web.Get(ctx, req)
	if err != nil {
		return secret.Bytes{}, grant.Peeked{}, fmt.Errorf("ask the controller: %w", err)
	}
	if resp.Status != 200 {
		return secret.Bytes{}, grant.Peeked{}, &attemptError{
			err: fmt.Errorf("%w: %d", errStatus, resp.Status), after: h.retryAfter(resp.RetryAfter),
		}
	}
	if len(resp.Body) > grant.TokenMax {
		return secret.Bytes{}, grant.Peeked{}, errTooLarge
	}
	return h.accept(bytes.TrimSpace(resp.Body))
}

// accept looks whether a token can be this Pod's grant. Whether it is genuine is for
// the verifier to say.
func (h *Home) accept(token []byte) (secret.Bytes, grant.Peeked, error) {
	p, err := grant.Peek(token)
	switch {
	case err != nil:
		return secret.Bytes{}, grant.Peeked{}, fmt.Errorf("read the grant: %w", err)
	case p.UID != h.cfg.PodUID:
		return secret.Bytes{}, grant.Peeked{}, errOtherPod
	case p.Expired(h.clock.Now()):
		return secret.Bytes{}, grant.Peeked{}, errExpired
	}
	return secret.New(token), p, nil
}

// retryAfter reads the header of that name: seconds, or a date.
func (h *Home) retryAfter(value string) time.Duration {
	if s, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(s, 0), 3600)) * time.Second
	}
	if at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", value); err == nil {
		return max(at.Sub(h.clock.Now()), 0)
	}
	return 0
}

// renew fetches the grant again whenever it is time, until ctx ends.
func (h *Home) renew(ctx context.Context) {
	for ctx.Err() == nil {
		in := h.lease.renewIn(h.clock.Now(), h.clock.Monotonic())
		if in > 0 {
			// No longer than a poll: somebody may step the clock meanwhile.
			if h.clock.Sleep(ctx, min(in, h.cfg.Poll)) != nil {
				return
			}
			continue
		}
		h.renewNow(ctx)
	}
}

// renewNow makes attempts until one succeeds or ctx ends.
func (h *Home) renewNow(ctx context.Context) {
	for delay := renewFirst; ctx.Err() == nil; delay = min(2*delay, renewMax) {
		err := h.fetch(ctx, attemptMax)
		if err == nil || ctx.Err() != nil {
			return
		}
		h.log.Info("Cannot renew the grant yet", "reason", err.Error())
		pause := h.cfg.Jitter(min(max(delay, wanted(err)), renewMax))
		if left, forever := h.lease.left(h.clock.Now()); !forever && left > 0 {
			pause = min(pause, left/2)
		}
		if h.clock.Sleep(ctx, max(pause, renewSoonest)) != nil {
			return
		}
	}
}
