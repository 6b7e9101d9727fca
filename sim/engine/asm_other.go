//go:build !amd64 && !arm64

package engine

import (
	"bytes"
	"runtime"
	"strconv"
	"unsafe"
)

// CheapIdentity says that [Config.Strict] costs a nanosecond or two per call on
// this machine; here it costs a microsecond.
const CheapIdentity = false

// getg returns a number that identifies the calling goroutine as long as it
// lives. Without assembly for this machine it is read from a stack trace, which
// costs more than a microsecond.
func getg() uintptr {
	b := make([]byte, 64)
	b = b[:runtime.Stack(b, false)] // "goroutine 17 [running]: ..."
	id, err := strconv.ParseUint(string(bytes.Fields(b)[1]), 10, 64)
	if err != nil {
		panic("engine: cannot tell goroutines apart: " + err.Error())
	}
	return uintptr(id)
}

// prefetch does nothing: it only saves time.
func prefetch(unsafe.Pointer) {}
