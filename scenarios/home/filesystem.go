package home

import (
	"context"
	"io/fs"
	"syscall"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/sim/disk"
)

// filesystem is home.Files over what a Pod has on its node: its token in memory, all
// else on the node's disk.
type filesystem struct {
	disk    disk.FS
	volumes *volumes
}

var _ home.Files = filesystem{}

// MkdirAll implements home.Files. Directories of the simulated disk need not be made.
func (filesystem) MkdirAll(ctx context.Context, _ string) error { return ctx.Err() }

// List implements home.Files.
func (f filesystem) List(ctx context.Context, dir string) ([]string, error) {
	return f.disk.List(ctx, dir)
}

// Regular implements home.Files: the disk holds nothing else.
func (f filesystem) Regular(ctx context.Context, name string) (bool, error) {
	if name == tokenFile {
		return true, ctx.Err()
	}
	_, err := f.disk.Size(ctx, name)
	return err == nil, err
}

// ReadFile implements home.Files.
func (f filesystem) ReadFile(ctx context.Context, name string, limit int) ([]byte, error) {
	data := []byte(f.volumes.token)
	switch {
	case name != tokenFile:
		var err error
		if data, err = f.disk.ReadFile(ctx, name); err != nil {
			return nil, err
		}
	case len(data) == 0:
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.ENOENT}
	}
	return data[:min(len(data), limit)], ctx.Err()
}

// WriteFile implements home.Files.
func (f filesystem) WriteFile(ctx context.Context, name string, data []byte) error {
	return f.disk.WriteFile(ctx, name, data)
}

// Sync implements home.Files.
func (f filesystem) Sync(ctx context.Context, name string) error { return f.disk.Sync(ctx, name) }

// SyncDir implements home.Files.
func (f filesystem) SyncDir(ctx context.Context, dir string) error { return f.disk.SyncDir(ctx, dir) }

// Rename implements home.Files.
func (f filesystem) Rename(ctx context.Context, from, to string) error {
	return f.disk.Rename(ctx, from, to)
}

// Remove implements home.Files.
func (f filesystem) Remove(ctx context.Context, name string) error { return f.disk.Remove(ctx, name) }
