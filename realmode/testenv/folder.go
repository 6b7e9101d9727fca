package testenv

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// folder holds all files of one server.
type folder struct {
	path string
	logs string
}

// pids is where programs leave their process ids, for the guard.
const pids = "pids"

func newFolder(logs string) (*folder, error) {
	path, err := os.MkdirTemp("", "seedbed-testenv-*")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a test environment: %w", err)
	}
	f := &folder{path: path, logs: logs}
	if logs == "" {
		f.logs = f.file("logs")
	}
	for _, dir := range []string{pids, "programs", "apiserver", "etcd", "logs"} {
		if err := os.Mkdir(f.file(dir), 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("make a folder for a test environment: %w", err), os.RemoveAll(path))
		}
	}
	return f, nil
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// log is the file with the output of a program.
func (f *folder) log(program binaries.Program) string {
	return filepath.Join(f.logs, string(program)+".log")
}

// launcher writes a script that leaves its process id to the guard and becomes
// the program. Neither happens once the guard has taken the folder away.
func (f *folder) launcher(program binaries.Program, programs binaries.Set) (string, error) {
	path := programs[program]
	if path == "" {
		return "", fmt.Errorf("the test environment needs the program %s", program)
	}
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s || exit 1\nexec %s \"$@\" >>%s 2>&1\n",
		quote(filepath.Join(f.path, pids, string(program))), quote(path), quote(f.log(program)))
	file := filepath.Join(f.path, "programs", string(program))
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		return "", fmt.Errorf("prepare to start %s: %w", program, err)
	}
	return file, nil
}

// quote is for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// lastWords are the end of a program's output, for an error.
func (f *folder) lastWords(program binaries.Program) string {
	const most = 2000
	data, err := os.ReadFile(f.log(program))
	data = bytes.TrimSpace(data)
	if err != nil || len(data) == 0 {
		return fmt.Sprintf("\n%s said nothing", program)
	}
	if len(data) > most {
		data = append([]byte("…"), data[len(data)-most:]...)
	}
	return fmt.Sprintf("\n%s said:\n%s", program, data)
}
