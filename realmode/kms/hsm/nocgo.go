//go:build !cgo

package hsm

import (
	"context"
	"errors"

	"github.com/seedbed-sim/seedbed/realmode/kms"
)

// errNoCgo is that of every call: a module is a C library.
var errNoCgo = errors.New("this program was built without cgo, so it cannot load the module of a token: build it with CGO_ENABLED=1")

// New returns an error.
func New(Config) (kms.Provider, error) { return nil, errNoCgo }

// Rotate returns an error, as New does.
func Rotate(context.Context, Config) (string, error) { return "", errNoCgo }
