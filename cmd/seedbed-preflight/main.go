// Command seedbed-preflight tries a KMS plugin the way an API server will use it, and
// reports in the status of the Pod that it runs in.
//
// Exit codes: 0 the plugin is good, and that is reported; 1 it is not, or that could not
// be reported; 2 bad flags.
package main

import (
	"io"
	"os"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

func main() { os.Exit(realMain(os.Args[1:], os.Stderr)) }

func realMain(args []string, log io.Writer) int { return daemon.Main(command(log), args, log) }
