package kmscheck

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kms/pkg/service"

	"github.com/seedbed-sim/seedbed/core/clock"
)

// What an API server allows, in bytes.
const (
	KeyIDMax       = 1024
	CiphertextMax  = 1024
	AnnotationsMax = 32 << 10 // names and values together
)

const (
	// StatusWait is how long a plugin may take until it is healthy; it is asked
	// every StatusInterval.
	StatusWait     = 30 * time.Second
	StatusInterval = 2 * time.Second

	// probeSize is the size of the text that is encrypted and decrypted.
	probeSize = 32

	healthy = "ok"
)

// Config is what a check needs. All fields are required.
type Config struct {
	// Plugins are the one to be tried, and those that it has to live beside, the
	// newest first.
	Plugins []service.Service

	// CallTimeout bounds each call.
	CallTimeout time.Duration

	Clock   clock.Clock
	Entropy io.Reader
}

// What plugins do wrong.
var (
	ErrNoPlugin    = errors.New("there is no plugin to be tried")
	ErrCoexistence = errors.New("a plugin that there is does not answer beside the new one")
	ErrUnhealthy   = errors.New("the plugin is not healthy")
	ErrVersion     = errors.New("the plugin speaks another version; API servers know v2 and v2beta1")
	ErrKeyID       = errors.New("the plugin gives the key an id that API servers refuse")
	ErrKeyChanges  = errors.New("the plugin names the key differently from call to call")
	ErrCiphertext  = errors.New("the plugin gives a ciphertext that API servers refuse")
	ErrAnnotations = errors.New("the plugin gives annotations that API servers refuse")
	ErrNoSecret    = errors.New("the plugin does not encrypt: the ciphertext is the text")
	ErrOtherText   = errors.New("the plugin does not decrypt: another text comes back")
)

// Check tries the first plugin, and asks the others whether they are there. It returns
// what the plugin calls the key that it keeps, as soon as that is known, even if the
// check fails later.
func Check(ctx context.Context, cfg Config) (kekID string, err error) {
	if len(cfg.Plugins) == 0 {
		return "", ErrNoPlugin
	}
	for i, p := range cfg.Plugins[1:] {
		if _, err := healthyStatus(ctx, &cfg, p); err != nil {
			return "", fmt.Errorf("plugin %d of %d: %w: %w", i+2, len(cfg.Plugins), ErrCoexistence, err)
		}
	}
	return try(ctx, &cfg, cfg.Plugins[0])
}

func try(ctx context.Context, cfg *Config, p service.Service) (kekID string, err error) {
	first, err := healthyStatus(ctx, cfg, p)
	if err != nil {
		return "", err
	}
	if err := checkStatus(first); err != nil {
		return "", err
	}
	random := make([]byte, probeSize+2)
	if _, err := io.ReadFull(cfg.Entropy, random); err != nil {
		return first.KeyID, fmt.Errorf("read entropy: %w", err)
	}
	text, uid := random[:probeSize], "preflight-check-"+hex.EncodeToString(random[probeSize:])
	sealed, err := call(ctx, cfg, "encrypt", func(ctx context.Context) (*service.EncryptResponse, error) { return p.Encrypt(ctx, uid, text) })
	if err != nil {
		return first.KeyID, err
	}
	if err := checkSealed(sealed, first.KeyID, text); err != nil {
		return first.KeyID, err
	}
	opened, err := call(ctx, cfg, "decrypt", func(ctx context.Context) ([]byte, error) {
		return p.Decrypt(ctx, uid, &service.DecryptRequest{Ciphertext: sealed.Ciphertext, KeyID: sealed.KeyID, Annotations: sealed.Annotations})
	})
	if err != nil {
		return first.KeyID, err
	}
	if !bytes.Equal(opened, text) {
		return first.KeyID, ErrOtherText
	}
	second, err := call(ctx, cfg, "ask for the status", p.Status)
	switch {
	case err != nil:
		return first.KeyID, err
	case second.KeyID != first.KeyID:
		return first.KeyID, fmt.Errorf("%w: the status says %q, and a moment later %q", ErrKeyChanges, first.KeyID, second.KeyID)
	case second.Version != first.Version:
		return first.KeyID, fmt.Errorf("%w: the status says %q, and a moment later %q", ErrVersion, first.Version, second.Version)
	default:
		return first.KeyID, nil
	}
}

// healthyStatus asks until the plugin says that it is healthy.
func healthyStatus(ctx context.Context, cfg *Config, p service.Service) (*service.StatusResponse, error) {
	end := cfg.Clock.Now().Add(StatusWait)
	for {
		status, err := call(ctx, cfg, "ask for the status", p.Status)
		switch {
		case err != nil:
		case status.Healthz == healthy:
			return status, nil
		default:
			err = fmt.Errorf("%w: it says %q", ErrUnhealthy, status.Healthz)
		}
		if !cfg.Clock.Now().Before(end) {
			return nil, err
		}
		if sleep := cfg.Clock.Sleep(ctx, StatusInterval); sleep != nil {
			return nil, errors.Join(err, sleep)
		}
	}
}

// call makes a call that ends in time.
func call[R any](ctx context.Context, cfg *Config, what string, f func(ctx context.Context) (R, error)) (R, error) {
	ctx, cancel := cfg.Clock.WithTimeout(ctx, cfg.CallTimeout)
	defer cancel()
	answer, err := f(ctx)
	if err != nil {
		return answer, fmt.Errorf("%s: %w", what, err)
	}
	return answer, nil
}

func checkStatus(s *service.StatusResponse) error {
	if s.Version != "v2" && s.Version != "v2beta1" {
		return fmt.Errorf("%w, and this is %q", ErrVersion, s.Version)
	}
	return checkKeyID(s.KeyID)
}

func checkKeyID(id string) error {
	if n := len(id); n == 0 || n > KeyIDMax {
		return fmt.Errorf("%w: it has %d bytes, and 1 to %d are allowed", ErrKeyID, n, KeyIDMax)
	}
	return nil
}

func checkSealed(r *service.EncryptResponse, keyID string, text []byte) error {
	if r.KeyID != keyID {
		return fmt.Errorf("%w: the status says %q, and what was encrypted %q", ErrKeyChanges, keyID, r.KeyID)
	}
	if n := len(r.Ciphertext); n == 0 || n > CiphertextMax {
		return fmt.Errorf("%w: it has %d bytes, and 1 to %d are allowed", ErrCiphertext, n, CiphertextMax)
	}
	if bytes.Equal(r.Ciphertext, text) {
		return ErrNoSecret
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(r.Annotations)) {
		if problems := validation.IsFullyQualifiedDomainName(nil, name); len(problems) > 0 {
			return fmt.Errorf("%w: the name %q is no domain name: %s", ErrAnnotations, name, strings.TrimPrefix(problems.ToAggregate().Error(), "<nil>: "))
		}
		size += len(name) + len(r.Annotations[name])
	}
	if size > AnnotationsMax {
		return fmt.Errorf("%w: they have %d bytes, and %d are allowed", ErrAnnotations, size, AnnotationsMax)
	}
	return nil
}
