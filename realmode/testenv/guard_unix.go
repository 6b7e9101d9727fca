//go:build unix

package testenv

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// A guard is a process that outlives this one. When this one ends, in whatever
// way, the guard's standard input ends with it; it then kills what still runs
// and deletes the folder.
type guard struct {
	cmd *exec.Cmd
	// leash is never written to.
	leash io.Closer
}

// guardScript takes the folder away first, so that a launcher that has not left
// its process id yet cannot start.
const guardScript = `cat >/dev/null
mv "$1" "$1.gone"
for file in "$1.gone/` + pids + `"/*; do
	[ -f "$file" ] && kill -9 "$(cat "$file")" 2>/dev/null
done
rm -rf "$1.gone"`

func startGuard(folder string) (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not ended by the Ctrl-C that ends this process
	leash, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the guard of a test environment: %w", err)
	}
	return &guard{cmd: cmd, leash: leash}, nil
}

// release lets the guard do its work and waits for it. After an orderly stop
// there is nothing to kill.
func (g *guard) release() error {
	if err := g.leash.Close(); err != nil {
		return fmt.Errorf("release the guard: %w", err)
	}
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("wait for the guard to clean up: %w", err)
	}
	return nil
}
