package daemon

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// UsageError is an error of whoever told the program what to do.
type UsageError struct{ error }

// Unwrap returns the error itself.
func (u UsageError) Unwrap() error { return u.error }

// Usage makes an error one of usage; nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// Usagef is fmt.Errorf for errors of usage.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether err is one of usage.
func IsUsage(err error) bool {
	var u UsageError
	return errors.As(err, &u)
}

// NoArguments is for commands that are told everything by flags.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("unexpected argument %q: everything is said by flags, see --help", args[0])
	}
	return nil
}
