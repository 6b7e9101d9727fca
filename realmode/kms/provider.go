package kms

import (
	"context"
	"errors"
)

// Provider keeps a key in versions, of which one seals. Its methods may be called from
// several goroutines. No error of theirs contains a secret, and each wraps one of the
// errors below, or the context's, where one of those says what is wrong.
type Provider interface {
	// Look finds out the id of the version that seals now, which every replica with
	// the same key gives the same name, and no other version of any key. It is called
	// again and again: what a provider has to renew from time to time it renews here.
	Look(ctx context.Context) (keyID string, err error)

	// Seal seals with the version of that id, which Look has returned at some time.
	Seal(ctx context.Context, keyID string, text []byte) (ciphertext []byte, err error)

	// Open opens what Seal has sealed, here or in another process, long ago or not.
	Open(ctx context.Context, keyID string, ciphertext []byte) (text []byte, err error)
}

// What may be wrong with a call to a provider.
var (
	ErrUnknownKey  = errors.New("there is no such version of the key")
	ErrBroken      = errors.New("the ciphertext was not made with this version of the key, or was changed since")
	ErrForbidden   = errors.New("permission denied")
	ErrUnavailable = errors.New("the key cannot be reached")
)
