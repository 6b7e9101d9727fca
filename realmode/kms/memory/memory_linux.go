package memory

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Protect forbids core dumps and tracing, and locks the memory of this process, now and
// later. An error is the first thing that could not be had; the rest is in force all the
// same.
func Protect() error {
	var first error
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"forbid core dumps", func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }},
		{"forbid tracing", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"lock memory", lock},
	} {
		if err := step.do(); err != nil && first == nil {
			first = fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return first
}

// errLimit is about a limit that would let the process die as soon as it grows.
var errLimit = errors.New("the limit of locked memory is too low: give the process CAP_IPC_LOCK, or LimitMEMLOCK=infinity")

// lock locks only under no limit: the runtime reserves far more than it uses, and a
// mapping that is over the limit fails.
func lock() error {
	all := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &all); err != nil {
		var have unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &have); err != nil {
			return err
		}
		if have.Cur != unix.RLIM_INFINITY {
			return errLimit
		}
	}
	// On fault: what is reserved and never touched takes no memory.
	return unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
}
