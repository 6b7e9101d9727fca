// Command seedbed-home is the agent of a grant Pod: it fetches the Pod's grant, builds
// the template that the grant allows, and says in the Pod's condition
// fiberd.io/zygote-ready that it is warm.
//
// Exit codes: 0 it was told to stop; 1 it could not start or go on; 2 bad flags.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(realMain(os.Args[1:], os.Stderr)) }

func realMain(args []string, log io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal kills the program at once.
	context.AfterFunc(ctx, stop)
	cmd := command(log)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(log, "seedbed-home: %v\n", err)
		if isUsage(err) {
			fmt.Fprintln(log, "seedbed-home --help tells of all flags.")
			return 2
		}
		return 1
	}
	return 0
}
