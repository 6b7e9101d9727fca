// Command seedbed-home is the agent of a grant Pod: it fetches the Pod's grant, builds
// the template that the grant allows, and says in the Pod's condition
// fiberd.io/zygote-ready that it is warm.
//
// Exit codes: 0 it was told to stop; 1 it could not start or go on; 2 bad flags.
package main

import (
	"io"
	"os"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

func main() { os.Exit(realMain(os.Args[1:], os.Stderr)) }

func realMain(args []string, log io.Writer) int { return daemon.Main(command(log), args, log) }
