//go:build unix

package testenv

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seedbed-sim/seedbed/realmode/testenv/binaries"
)

// victim, if set, makes the test binary be the process that is killed.
const victim = "SEEDBED_TESTENV_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victim) != "" {
		beVictim()
	}
	os.Exit(m.Run())
}

// beVictim starts a program as a server would be, tells where, and waits to be
// killed.
func beVictim() {
	f, err := newFolder("")
	if err != nil {
		panic(err)
	}
	if _, err := startGuard(f.path); err != nil {
		panic(err)
	}
	launcher, err := f.launcher(binaries.Etcd, binaries.Set{binaries.Etcd: "/bin/sh"})
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(launcher, "-c", "while :; do sleep 1; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	println(f.path)
	println(cmd.Process.Pid)
	select {}
}

func TestServersEndWithTheProcessThatStartedThem(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"=1")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	said.Scan()
	folder := said.Text()
	said.Scan()
	pid, err := strconv.Atoi(said.Text())
	if err != nil {
		t.Fatalf("the victim said %q: %v", said.Text(), err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the program does not run: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed

	eventually(t, "the program ends", func() bool { return !runs(pid) })
	eventually(t, "the files go", func() bool {
		left, err := filepath.Glob(folder + "*")
		return err == nil && len(left) == 0
	})
}

// runs tells whether a process is there and not merely waited for.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come true that %s", what)
		}
	}
}

func TestReleaseDeletesTheFolder(t *testing.T) {
	f, err := newFolder("")
	if err != nil {
		t.Fatal(err)
	}
	g, err := startGuard(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestALauncherDoesNotStartOnceTheFolderIsGone(t *testing.T) {
	f, err := newFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	launcher, err := f.launcher(binaries.Etcd, binaries.Set{binaries.Etcd: "/bin/echo"})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(launcher)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(f.path); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("/bin/sh", "-c", string(script)).Run(); err == nil {
		t.Error("it started")
	}
	if _, err := os.Stat(f.log(binaries.Etcd)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left a log: %v", err)
	}
}
