package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// usageError is about flags, or what they name.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// Usage marks an error as one that its user mends by other flags, or by other content
// of the files that they name. Nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Usagef is [Usage] of an error that fmt.Errorf makes.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether an error was marked by [Usage].
func IsUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}

// Main runs a command until it ends, or is told to by SIGINT or SIGTERM; a second
// signal kills the program at once. What went wrong becomes one line on log. The exit
// code is 0 if nothing did, 2 for errors of usage and 1 for all others.
func Main(cmd *cobra.Command, args []string, log io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Run(ctx, cmd, args, log)
}

// Run is [Main] for whoever ends the context in place of a signal.
func Run(ctx context.Context, cmd *cobra.Command, args []string, log io.Writer) int {
	prepare(cmd)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(log, "%s: %v\n", cmd.Name(), err)
		if IsUsage(err) {
			fmt.Fprintf(log, "%s --help tells of all flags.\n", cmd.Name())
			return 2
		}
		return 1
	}
	return 0
}

// prepare makes a command and those below it leave errors to [Main].
func prepare(cmd *cobra.Command) {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Version = Version(cmd.Name())
	cmd.SetVersionTemplate("{{.Version}}")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
}

// NoArgs is for commands for which everything is said by flags.
func NoArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(fmt.Errorf("unexpected argument %q: see --help", args[0]))
	}
	return nil
}

// Version tells what a program is: the module's version, with the commit for builds
// from a work tree, and what it was built with.
func Version(name string) string {
	return fmt.Sprintf("%s %s\n%s %s/%s\n", name, Build(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Build is the version of the module.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok:
		return "(unknown)"
	case info.Main.Version == "":
		return "(devel)"
	}
	return info.Main.Version
}
