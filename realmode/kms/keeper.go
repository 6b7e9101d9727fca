package kms

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// probeSize is the size of the text that a probe seals and opens: that of a seed.
const probeSize = 32

// keeper knows which version of the key seals, and whether it does: it tries. All that
// the plugin says and seals follows from it, so Status and Encrypt never disagree.
type keeper struct {
	provider Provider
	clock    clock.Clock
	timeout  time.Duration // of a probe
	stale    time.Duration // how long what a probe has found is believed
	log      logr.Logger
	metrics  *metrics

	probing sync.Mutex // one at a time

	mu       sync.Mutex
	current  string          // the version that seals; empty before the first good probe
	replaced map[string]bool // versions that did
	problem  error           // what the last probe has found
	probed   time.Duration   // when, on the monotonic clock
}

// Errors of keys and probes.
var (
	ErrWentBack = errors.New("the key has gone back to a version that was replaced; a version that has sealed is never used again")
	errStale    = errors.New("the key was not tried for too long")
)

// probe finds out which version seals, and tries it. A version that does not work is
// not taken, and one that was replaced never again.
func (k *keeper) probe(ctx context.Context) error {
	k.probing.Lock()
	defer k.probing.Unlock()
	ctx, cancel := k.clock.WithTimeout(ctx, k.timeout)
	defer cancel()
	began := k.clock.Monotonic()
	id, err := k.find(ctx)
	if err == nil {
		err = k.try(ctx, id)
	} else if k.keyID() != "" {
		err = both(err, k.try(ctx, k.keyID())) // what there is may fail as well
	}
	k.settle(id, err, began)
	return err
}

// both is an error in one line if either is one.
func both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return fmt.Errorf("%w; %w", a, b)
	}
}

func (k *keeper) find(ctx context.Context) (string, error) {
	id, err := k.provider.Look(ctx)
	if err != nil {
		return "", fmt.Errorf("look which version of the key seals: %w", err)
	}
	if err := checkKeyID(id); err != nil {
		return "", fmt.Errorf("look which version of the key seals: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.replaced[id] {
		return "", fmt.Errorf("%w: %s, after %s", ErrWentBack, id, k.current)
	}
	return id, nil
}

// try seals and opens.
func (k *keeper) try(ctx context.Context, id string) error {
	text := make([]byte, probeSize)
	_, _ = rand.Read(text) // does not fail
	sealed, err := k.provider.Seal(ctx, id, text)
	if err != nil {
		return fmt.Errorf("try to seal with %s: %w", id, err)
	}
	if err := checkCiphertext(sealed); err != nil {
		return fmt.Errorf("try to seal with %s: %w", id, err)
	}
	opened, err := k.provider.Open(ctx, id, sealed)
	if err != nil {
		return fmt.Errorf("try to open with %s: %w", id, err)
	}
	if !bytes.Equal(opened, text) || bytes.Contains(sealed, text) {
		return fmt.Errorf("try %s: %w", id, ErrBroken)
	}
	return nil
}

// settle makes what a probe has found known.
func (k *keeper) settle(id string, err error, began time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, was := k.current, k.problem
	k.problem, k.probed = err, began
	k.metrics.probed(err)
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		k.log.Error(err, "The key does not work as it should", "keyID", k.current)
	case err == nil && was != nil:
		k.log.Info("The key works again", "keyID", id)
	}
	if err != nil || id == before {
		return
	}
	if k.current = id; before != "" {
		k.replaced[before] = true
	}
	k.metrics.changed(before, id)
	k.log.Info("Seals with another version of the key", "keyID", id, "before", before)
}

// keyID is the version that seals.
func (k *keeper) keyID() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// healthy says what is wrong, if something is.
func (k *keeper) healthy() error {
	now := k.clock.Monotonic()
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := now - k.probed; k.problem == nil && age > k.stale {
		return fmt.Errorf("%w: the last time was %v ago", errStale, age.Round(time.Second))
	}
	return k.problem
}
