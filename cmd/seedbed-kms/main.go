// Command seedbed-kms is a KMS v2 plugin for API servers: it encrypts the seeds of their
// keys with a key of its own, which is in a file or in a Vault.
//
// Exit codes: 0 it was told to stop; 1 it could not start or go on; 2 bad flags.
package main

import (
	"io"
	"os"

	"github.com/seedbed-sim/seedbed/realmode/daemon"
)

func main() { os.Exit(realMain(os.Args[1:], os.Stdout, os.Stderr)) }

func realMain(args []string, out, log io.Writer) int {
	cmd := command(log)
	cmd.SetOut(out)
	return daemon.Main(cmd, args, log)
}
