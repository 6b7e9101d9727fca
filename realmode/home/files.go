package home

import (
	"context"
	"io"
	"os"
	"syscall"

	"github.com/seedbed-sim/seedbed/core/home"
)

// Files is home.Files on the file system of this machine.
type Files struct{}

var _ home.Files = Files{}

// MkdirAll implements home.Files.
func (Files) MkdirAll(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}

// List implements home.Files.
func (Files) List(ctx context.Context, dir string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Regular implements home.Files.
func (Files) Regular(ctx context.Context, name string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	return info.Mode().IsRegular(), nil
}

// ReadFile implements home.Files.
func (Files) ReadFile(ctx context.Context, name string, limit int) (data []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Somebody may have put a FIFO there since it was looked at, which would not open.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

// WriteFile implements home.Files. It follows no symbolic link.
func (Files) WriteFile(ctx context.Context, name string, data []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if err := f.Chmod(0o600); err != nil { // of a file that was there
		return err
	}
	_, err = f.Write(data)
	return err
}

// Sync implements home.Files.
func (Files) Sync(ctx context.Context, name string) error { return fsync(ctx, name) }

// SyncDir implements home.Files.
func (Files) SyncDir(ctx context.Context, dir string) error { return fsync(ctx, dir) }

func fsync(ctx context.Context, name string) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	return f.Sync()
}

// Rename implements home.Files.
func (Files) Rename(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Remove implements home.Files.
func (Files) Remove(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.Remove(name)
}
