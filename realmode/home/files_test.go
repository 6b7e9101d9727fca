package home_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/realmode/home"
)

func TestFilesReplaceAFile(t *testing.T) {
	var files home.Files
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "a", "b")
	temp, name := filepath.Join(dir, ".tmp"), filepath.Join(dir, "grant.jwt")
	for _, content := range []string{"first", "2nd"} {
		for _, err := range []error{
			files.MkdirAll(ctx, dir), files.WriteFile(ctx, temp, []byte(content)), files.Sync(ctx, temp),
			files.Rename(ctx, temp, name), files.SyncDir(ctx, dir),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := files.ReadFile(ctx, name, 100); err != nil || string(got) != content {
			t.Errorf("read %q, error %v", got, err)
		}
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, name: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v", path, info.Mode(), want)
		}
	}
	names, err := files.List(ctx, dir)
	if d := cmp.Diff([]string{"grant.jwt"}, names); d != "" || err != nil {
		t.Errorf("error %v, names (-want +got):\n%s", err, d)
	}
	if got, err := files.ReadFile(ctx, name, 2); err != nil || string(got) != "2n" {
		t.Errorf("two bytes: %q, error %v", got, err)
	}
	if err := files.Remove(ctx, name); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"remove": files.Remove(ctx, name),
		"read":   second(files.ReadFile(ctx, name, 1)),
		"stat":   second(files.Regular(ctx, name)),
		"list":   second(files.List(ctx, filepath.Join(dir, "x"))),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s what is not there: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestFilesAreNotFooled by what is no regular file, or leads elsewhere.
func TestFilesAreNotFooled(t *testing.T) {
	var files home.Files
	ctx, dir := t.Context(), t.TempDir()
	fifo, link, real, dangling := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "real"), filepath.Join(dir, "dangling")
	for _, err := range []error{
		syscall.Mkfifo(fifo, 0o600), os.WriteFile(real, []byte("x"), 0o600), os.Symlink(real, link), os.Symlink("nowhere", dangling),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{fifo: false, dir: false, link: true, real: true} {
		if got, err := files.Regular(ctx, name); err != nil || got != want {
			t.Errorf("%s: regular %t, error %v", name, got, err)
		}
	}
	if _, err := files.Regular(ctx, dangling); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing: %v", err)
	}
	if _, err := files.ReadFile(ctx, fifo, 10); err != nil && !strings.Contains(err.Error(), "resource temporarily unavailable") {
		t.Errorf("a FIFO: %v", err) // what matters is that it returned
	}
	if err := files.WriteFile(ctx, link, []byte("stolen")); err == nil {
		t.Error("it writes where a link leads")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := files.WriteFile(ended, real, []byte("late")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	if got, _ := os.ReadFile(real); string(got) != "x" {
		t.Errorf("the file holds %q", got)
	}
}

// TestDelegate does it in a folder that looks like a cgroup.
func TestDelegate(t *testing.T) {
	mount := t.TempDir()
	own := filepath.Join(mount, "kubepods", "pod")
	put := func(name, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	self := put(filepath.Join(mount, "self"), "1:name=x:/old\n0::/kubepods/pod\n")
	put(filepath.Join(own, "cgroup.controllers"), "cpu memory\n")
	root, err := home.Cgroups{Mount: mount, Self: self}.Delegate(t.Context())
	if err != nil || root != filepath.Join(own, "grants") {
		t.Fatalf("root %q, error %v", root, err)
	}
	for name, want := range map[string]string{"fiberd/cgroup.procs": strconv.Itoa(os.Getpid()), "cgroup.subtree_control": "+cpu +memory"} {
		if got, err := os.ReadFile(filepath.Join(own, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, want %q; error %v", name, got, want, err)
		}
	}
	// Another hierarchy is mounted there: nothing may be made.
	other := t.TempDir()
	if _, err := (home.Cgroups{Mount: other, Self: put(filepath.Join(mount, "root"), "0::/\n")}).Delegate(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without cgroup v2: error %v", err)
	}
	if made, err := os.ReadDir(other); err != nil || len(made) > 0 {
		t.Errorf("without cgroup v2 this was made: %v, error %v", made, err)
	}
	if _, err := (home.Cgroups{Mount: mount, Self: put(filepath.Join(mount, "v1"), "1:name=x:/old\n")}).Delegate(t.Context()); err == nil {
		t.Error("a process in no cgroup of version 2 has been delegated one")
	}
}
