// Command seedbed runs scenarios: simulated clusters, each grown from one random
// seed, with a story, trouble in the background, and properties that must hold.
//
// Exit codes: 0 all scenarios showed what they are written to show; 1 a property
// failed; 2 bad input; 3 the engine itself failed; 130 interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/seedbed-sim/seedbed/scenarios"
	"github.com/seedbed-sim/seedbed/scenarios/library"
)

func main() {
	os.Exit(realMain())
}

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal kills the program at once.
	context.AfterFunc(ctx, stop)
	registry := scenarios.MustNew(library.Systems()...)
	a := &app{
		registry: registry,
		library:  func() ([]*scenarios.File, error) { return library.Read(registry) },
		out:      os.Stdout,
		err:      os.Stderr,
		terminal: isTerminal(os.Stderr),
		colour:   isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
	return a.main(ctx, os.Args[1:])
}

// isTerminal reports whether somebody may be looking: a device that shows
// characters, not a file or a pipe.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
