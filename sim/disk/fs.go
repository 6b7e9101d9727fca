package disk

import (
	"context"
	"time"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// FS is a disk as tasks of one process use it. Each method takes the time that the
// disk's options say and then acts, unless the process has died or ctx has ended
// before: then nothing has happened. It returns ctx.Err() or an error of [Disk].
type FS struct {
	d *Disk
	p *engine.Process
}

// Mount returns the disk for tasks of p.
func (d *Disk) Mount(p *engine.Process) FS { return FS{d, p} }

// Disk returns the disk behind the file system.
func (f FS) Disk() *Disk { return f.d }

// WriteFile is [Disk.WriteFile].
func (f FS) WriteFile(ctx context.Context, name string, data []byte) error {
	return f.do(ctx, "write", name, true, func() error { return f.d.WriteFile(name, data) })
}

// Append is [Disk.Append].
func (f FS) Append(ctx context.Context, name string, data []byte) error {
	return f.do(ctx, "append", name, true, func() error { return f.d.Append(name, data) })
}

// WriteAt is [Disk.WriteAt].
func (f FS) WriteAt(ctx context.Context, name string, offset int64, data []byte) error {
	return f.do(ctx, "write", name, true, func() error { return f.d.WriteAt(name, offset, data) })
}

// Truncate is [Disk.Truncate].
func (f FS) Truncate(ctx context.Context, name string, size int64) error {
	return f.do(ctx, "truncate", name, true, func() error { return f.d.Truncate(name, size) })
}

// ReadFile is [Disk.ReadFile].
func (f FS) ReadFile(ctx context.Context, name string) (data []byte, err error) {
	err = f.do(ctx, "read", name, false, func() (err error) {
		data, err = f.d.ReadFile(name)
		return err
	})
	return data, err
}

// Size is [Disk.Size].
func (f FS) Size(ctx context.Context, name string) (size int64, err error) {
	err = f.do(ctx, "stat", name, false, func() (err error) {
		size, err = f.d.Size(name)
		return err
	})
	return size, err
}

// Rename is [Disk.Rename].
func (f FS) Rename(ctx context.Context, from, to string) error {
	return f.do(ctx, "rename", to, true, func() error { return f.d.Rename(from, to) })
}

// Remove is [Disk.Remove].
func (f FS) Remove(ctx context.Context, name string) error {
	return f.do(ctx, "remove", name, true, func() error { return f.d.Remove(name) })
}

// List is [Disk.List].
func (f FS) List(ctx context.Context, dir string) (names []string, err error) {
	err = f.do(ctx, "list", dir, false, func() error {
		names = f.d.List(dir)
		return nil
	})
	return names, err
}

// Sync is [Disk.Sync].
func (f FS) Sync(ctx context.Context, name string) error {
	return f.do(ctx, "sync", name, true, func() error { return f.d.Sync(name) })
}

// SyncDir is [Disk.SyncDir].
func (f FS) SyncDir(ctx context.Context, dir string) error {
	return f.do(ctx, "syncdir", dir, true, func() error { return f.d.SyncDir(dir) })
}

func (f FS) do(ctx context.Context, verb, name string, write bool, act func() error) error {
	o := engine.Op{Verb: verb, Key: f.d.name + ":" + name, Write: write}
	if err := f.p.Await(ctx, o, func(w *engine.Wait) { f.d.e.After(f.d.duration(verb), done, w) }); err != nil {
		return err
	}
	return act()
}

func done(w any) { w.(*engine.Wait).Done() }

func (d *Disk) duration(verb string) time.Duration {
	if verb == "sync" || verb == "syncdir" {
		return d.syncLatency.Duration(d.options.SyncLatency)
	}
	return d.latency.Duration(d.options.Latency)
}
