package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs a command until it ends or the process is told to stop, and returns the exit
// code. What the command fails with is the last line in log.
func Main(cmd *cobra.Command, args []string, log io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal kills the program at once.
	context.AfterFunc(ctx, stop)
	return Run(ctx, cmd, args, log)
}

// Run is Main without signals.
func Run(ctx context.Context, cmd *cobra.Command, args []string, log io.Writer) int {
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{err} })
	cmd.SetVersionTemplate("{{.Version}}")
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
