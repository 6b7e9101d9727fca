package nodeagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Files are those of the node. Folders come to be with the first file in them. Only
// root can read what is written.
type Files interface {
	// ReadFile returns an error that is fs.ErrNotExist if there is no such file.
	ReadFile(ctx context.Context, name string) ([]byte, error)

	// WriteFile is there after a crash as a whole only once Sync has returned.
	WriteFile(ctx context.Context, name string, data []byte) error
	Sync(ctx context.Context, name string) error

	// Rename and Remove are certain after a crash once SyncDir has returned.
	Rename(ctx context.Context, from, to string) error
	Remove(ctx context.Context, name string) error
	SyncDir(ctx context.Context, dir string) error
}

// replace makes data the content of a file, all of it or nothing, and reports whether
// it was another. The kubelet does not see files whose names begin with a dot.
func (a *Agent) replace(ctx context.Context, name string, data []byte) (changed bool, err error) {
	there, err := a.cfg.Files.ReadFile(ctx, name)
	if err == nil && bytes.Equal(there, data) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	dir := path.Dir(name)
	temporary := unfinished(name)
	if err := a.cfg.Files.WriteFile(ctx, temporary, data); err != nil {
		return false, fmt.Errorf("write %s: %w", temporary, err)
	}
	if err := a.cfg.Files.Sync(ctx, temporary); err != nil {
		return false, fmt.Errorf("sync %s: %w", temporary, err)
	}
	if err := a.cfg.Files.Rename(ctx, temporary, name); err != nil {
		return false, fmt.Errorf("rename %s to %s: %w", temporary, name, err)
	}
	if err := a.cfg.Files.SyncDir(ctx, dir); err != nil {
		return false, fmt.Errorf("sync %s: %w", dir, err)
	}
	return true, nil
}

// unfinished is the name of a file that is to become one of the given name.
func unfinished(name string) string {
	dir, base := path.Split(name)
	return path.Join(dir, "."+base+".new")
}

// read returns the content of a file; nil if there is none.
func (a *Agent) read(ctx context.Context, name string) ([]byte, error) {
	data, err := a.cfg.Files.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// remove removes files that may be gone already, and what never came to be one.
func (a *Agent) remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		for _, name := range []string{name, unfinished(name)} {
			if err := a.cfg.Files.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove %s: %w", name, err)
			}
		}
		if err := a.cfg.Files.SyncDir(ctx, path.Dir(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sync %s: %w", path.Dir(name), err)
		}
	}
	return nil
}
