package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seedbed-sim/seedbed/core/home"
)

// Cgroups is home.Cgroups on cgroup v2.
type Cgroups struct {
	// Mount is where the hierarchy is mounted. Empty means /sys/fs/cgroup.
	Mount string

	// Self names the file that says in which cgroup this process is. Empty means
	// /proc/self/cgroup.
	Self string
}

var _ home.Cgroups = Cgroups{}

var (
	errNoCgroup2  = errors.New("this process is in no cgroup of version 2")
	errNotMounted = errors.New("is cgroup v2 mounted there, and writable in this container?")
)

// Delegate implements home.Cgroups. The cgroup of this process must be its own to
// write: in a Pod that is so with a private cgroup namespace and a writable mount.
func (c Cgroups) Delegate(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	own, err := c.own()
	if err != nil {
		return "", err
	}
	// First of all: where another hierarchy is mounted there is no such file, and what
	// is made there would be directories and no cgroups.
	controllers, err := os.ReadFile(filepath.Join(own, "cgroup.controllers"))
	if err != nil {
		return "", fmt.Errorf("read the controllers of the cgroup: %w; %w", err, errNotMounted)
	}
	leaf, work := filepath.Join(own, "fiberd"), filepath.Join(own, "grants")
	for _, dir := range []string{leaf, work} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("make a cgroup: %w", err)
		}
	}
	// A cgroup with processes of its own cannot hand controllers down.
	if err := write(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(os.Getpid())); err != nil {
		return "", fmt.Errorf("move this process to its leaf: %w", err)
	}
	var down []string
	for _, name := range strings.Fields(string(controllers)) {
		down = append(down, "+"+name)
	}
	if len(down) > 0 {
		if err := write(filepath.Join(own, "cgroup.subtree_control"), strings.Join(down, " ")); err != nil {
			return "", fmt.Errorf("hand the controllers down: %w", err)
		}
	}
	return work, nil
}

// own is the directory of the cgroup of this process.
func (c Cgroups) own() (string, error) {
	mount, self := c.Mount, c.Self
	if mount == "" {
		mount = "/sys/fs/cgroup"
	}
	if self == "" {
		self = "/proc/self/cgroup"
	}
	lines, err := os.ReadFile(self)
	if err != nil {
		return "", fmt.Errorf("find the cgroup of this process: %w", err)
	}
	for line := range strings.Lines(string(lines)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(mount, path), nil
		}
	}
	return "", errNoCgroup2
}

func write(name, text string) error { return os.WriteFile(name, []byte(text), 0o644) }
