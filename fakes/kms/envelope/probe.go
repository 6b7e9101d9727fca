package envelope

import (
	"errors"
	"fmt"
	"io"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"
	"k8s.io/kms/pkg/service"
)

// Times of probing.
const (
	goodEvery = time.Minute      // between probes
	badEvery  = 10 * time.Second // while something is wrong
	writeTTL  = 3 * time.Minute  // how long a good answer allows to write

	goodTTL = 20 * time.Second // how long a result is told without asking anew
	badTTL  = 3 * time.Second
)

// result is what the last probe said.
type result struct {
	known bool
	err   error
	at    time.Time
	ttl   time.Duration
}

func (r *result) fresh(now time.Time) bool { return r.known && now.Sub(r.at) < r.ttl }

// answer is what a plugin has said to one probe, before anything has come of it.
type answer struct {
	status   *service.StatusResponse
	statused time.Duration // how long Status took
	err      error

	seed   *seed // if a new one was needed
	object *kmstypes.EncryptedObject
	keyErr error
	took   time.Duration // altogether
}

// prime asks once, inline, and starts the loops, which begin when the answer is there.
func (p *Provider) prime() {
	a := p.ask()
	p.primed = a.took
	now := p.cfg.Timers.Now()
	err := p.conclude(a, now)
	p.last.at = now.Add(a.took)
	p.cfg.Timers.After(a.took, func() {
		if err != nil {
			p.retry(func() {})
		}
		p.cfg.Timers.After(p.goodEvery(), p.tick)
	})
}

func (p *Provider) goodEvery() time.Duration {
	if p.cfg.Watched {
		return goodTTL
	}
	return goodEvery
}

func (p *Provider) badEvery() time.Duration {
	if p.cfg.Watched {
		return badTTL
	}
	return badEvery
}

// tick is the loop that runs for ever. While it waits for things to get better its
// ticks are lost.
func (p *Provider) tick() {
	if p.closed {
		return
	}
	p.cfg.Timers.After(p.goodEvery(), p.tick)
	if p.waiting {
		return
	}
	p.probe(func(err error) {
		if err != nil {
			p.waiting = true
			p.retry(func() { p.waiting = false })
		}
	})
}

// retry probes again and again until things are good. While one answer is on its way no
// other is asked for.
func (p *Provider) retry(good func()) {
	busy, over := false, false
	var tick func()
	tick = func() {
		if p.closed || over {
			return
		}
		p.cfg.Timers.After(p.badEvery(), tick)
		if busy {
			return
		}
		busy = true
		p.probe(func(err error) {
			busy = false
			if err == nil {
				over = true
				good()
			}
		})
	}
	p.cfg.Timers.After(p.badEvery(), tick)
}

// probe finds out how the plugin is, unless that is known, and passes it to then once
// the answer is there.
func (p *Provider) probe(then func(error)) {
	now := p.cfg.Timers.Now()
	if p.probing || p.last.fresh(now) {
		then(p.last.err)
		return
	}
	a := p.ask()
	if a.took == 0 {
		then(p.conclude(a, now))
		return
	}
	p.probing = true
	p.cfg.Timers.After(a.took, func() {
		p.probing = false
		if !p.closed {
			then(p.conclude(a, now))
		}
	})
}

// Check says what is wrong with the plugin, as healthz does: by the last probe if that
// was not long ago, else by a new one, which takes the time that is returned. While the
// answer to a probe is on its way, it is the one before.
func (p *Provider) Check() (time.Duration, error) {
	now := p.cfg.Timers.Now()
	switch {
	case p.last.fresh(now), p.probing:
		return 0, p.last.err
	case p.closed:
		return 0, errClosed
	}
	a := p.ask()
	return a.took, p.conclude(a, now)
}

var errClosed = errors.New("the provider is closed")

// ask calls Status, and if it says that the plugin has another key, Encrypt for a new
// seed. A seed is made of what the plugin says, so nothing has changed yet.
func (p *Provider) ask() *answer {
	a := &answer{}
	a.status, a.statused, a.err = p.cfg.Plugin.Status()
	a.took = a.statused
	if a.err != nil || checkKeyID(a.status.KeyID) != nil {
		return a
	}
	if p.cfg.HealthzExpires && len(p.complaints(a.status)) > 0 {
		return a
	}
	if p.current.seed != nil && p.current.object.GetKeyID() == a.status.KeyID {
		return a
	}
	took, err := p.newSeed(a)
	a.took += took
	a.keyErr = err
	return a
}

// newSeed makes a seed and lets the plugin encrypt it.
func (p *Provider) newSeed(a *answer) (time.Duration, error) {
	uid := p.uid()
	secret := make([]byte, seedSize)
	if _, err := io.ReadFull(p.cfg.Random, secret); err != nil {
		return 0, err
	}
	seed, err := newSeed(secret, true)
	if err != nil {
		return 0, err
	}
	r, took, err := p.cfg.Plugin.Encrypt(uid, append([]byte(nil), secret...))
	if err != nil {
		return took, fmt.Errorf("failed to encrypt DEK, error: %w", err)
	}
	o := &kmstypes.EncryptedObject{
		KeyID: r.KeyID, EncryptedDEKSource: r.Ciphertext, Annotations: r.Annotations,
		EncryptedDEKSourceType: kmstypes.EncryptedDEKSourceType_HKDF_SHA256_XNONCE_AES_GCM_SEED,
		EncryptedData:          []byte{0}, // there must be some
	}
	if err := checkObject(o); err != nil {
		return took, err
	}
	a.seed, a.object = seed, o
	return took, nil
}

// conclude is what comes of an answer to a probe that began at that time.
func (p *Provider) conclude(a *answer, began time.Time) error {
	now := p.cfg.Timers.Now()
	p.last = result{known: true, at: now, ttl: badTTL}
	if a.err != nil {
		p.last.err = a.err
		return fmt.Errorf("failed to perform status section of the healthz check for KMS Provider %s, error: %w", p.cfg.Name, a.err)
	}
	errs := p.complaints(a.status)
	healthy := len(errs) == 0
	if p.version == "" && known(a.status.Version) {
		p.version = a.status.Version
	}
	if err := checkKeyID(a.status.KeyID); err != nil {
		errs = append(errs, fmt.Errorf("got invalid KMSv2 KeyID hash %q: %w", hashOf(a.status.KeyID), err))
	} else if healthy || !p.cfg.HealthzExpires {
		// Writing is allowed from when Status had answered, whatever Encrypt took.
		if err := p.rotate(a, began.Add(a.statused+writeTTL)); err != nil {
			errs = append(errs, err)
		}
	}
	if err := utilerrors.Reduce(utilerrors.NewAggregate(errs)); err != nil {
		p.last.err = fmt.Errorf("kmsv2 Provider %s is not healthy, error: %w", p.cfg.Name, err)
		return p.last.err
	}
	p.last.ttl = goodTTL
	return nil
}

func known(version string) bool { return version == "v2" || version == "v2beta1" }

// complaints are what is wrong with an answer of Status, its key aside.
func (p *Provider) complaints(r *service.StatusResponse) []error {
	var errs []error
	if r.Healthz != "ok" {
		errs = append(errs, fmt.Errorf("got unexpected healthz status: %s", r.Healthz))
	}
	switch {
	case !known(r.Version):
		errs = append(errs, fmt.Errorf("expected KMSv2 API version v2, got %s", r.Version))
	case p.version != "" && p.version != r.Version:
		errs = append(errs, fmt.Errorf("KMSv2 API version should not change after the initial status response version %s, got %s", p.version, r.Version))
	}
	return errs
}

// rotate puts a new seed in force if the plugin has a new key, and else extends the time
// of the one that there is. If that fails the old one stays until its time is over.
func (p *Provider) rotate(a *answer, expires time.Time) error {
	was := &p.current
	switch {
	case a.seed == nil && a.keyErr == nil:
		was.expires = expires
		return nil
	case a.keyErr == nil && a.object.KeyID == a.status.KeyID:
		p.current = state{seed: a.seed, object: a.object, source: sourceKey(a.object), expires: expires}
		if p.cfg.Changed != nil {
			p.cfg.Changed()
		}
		return nil
	}
	var noState error
	if was.seed == nil {
		noState = errNoSeed
	}
	//nolint:errorlint // a nil among them is told as it is
	return fmt.Errorf("failed to rotate DEK useSeed=true, errState=%v, errGen=%v, statusKeyIDHash=%q, encryptKeyIDHash=%q, stateKeyIDHash=%q, expirationTimestamp=%s",
		noState, a.keyErr, hashOf(a.status.KeyID), hashOf(a.object.GetKeyID()), hashOf(was.object.GetKeyID()), was.expires.Format(time.RFC3339))
}
