//go:build !linux

package memory

import "errors"

// Protect is for Linux.
func Protect() error { return errors.New("memory is protected on Linux only") }
