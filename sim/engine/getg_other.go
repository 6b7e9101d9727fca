//go:build !amd64 && !arm64

package engine

// getg returns a number that identifies the calling goroutine as long as it
// lives. Without assembly for this machine it is read from a stack trace, which
// costs more than a microsecond.
func getg() uintptr { return uintptr(goroutineID(ownStack())) }
