// Command seedbed-node is the agents that run on every node: today that of gossip.
//
// Exit codes: 0 it was told to stop; 1 it could not start or go on; 2 bad flags or a bad
// configuration file.
package main

import (
	"io"
	"os"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

func main() { os.Exit(realMain(os.Args[1:], os.Stdout, os.Stderr)) }

func realMain(args []string, out, log io.Writer) int {
	return daemon.Main(command(out, log), args, log)
}
