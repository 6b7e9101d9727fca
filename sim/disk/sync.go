package disk

import (
	"io/fs"
	"path"
	"slices"
	"syscall"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// sector is the unit that a disk writes whole.
const sector = 512

// Sync makes the content of a file durable, but not its name. If it fails with
// EIO, what was written since the last Sync will not survive a power failure,
// though it can be read until then.
func (d *Disk) Sync(name string) error {
	name = path.Clean(name)
	f := d.names[name]
	if f == nil {
		return &fs.PathError{Op: "sync", Path: name, Err: syscall.ENOENT}
	}
	dirty := f.dirty
	f.dirty = nil
	if d.syncFault.Hit(d.options.SyncError) {
		return d.fault("sync", name, syscall.EIO)
	}
	for _, w := range dirty {
		f.synced = w.apply(f.synced)
	}
	d.emit("sync", name, 0)
	return nil
}

// SyncDir makes the names in a directory durable: files created, renamed from or to
// it, and removed.
func (d *Disk) SyncDir(dir string) error {
	dir = path.Clean(dir)
	if d.syncFault.Hit(d.options.SyncError) {
		return d.fault("syncdir", dir, syscall.EIO)
	}
	d.pending = slices.DeleteFunc(d.pending, func(c change) bool {
		if !slices.ContainsFunc(c.sets, func(b binding) bool { return path.Dir(b.name) == dir }) {
			return false
		}
		apply(d.durable, c.sets)
		return true
	})
	d.emit("syncdir", dir, 0)
	return nil
}

// PowerLoss leaves what survives when the machine loses power or its kernel dies:
// everything that was synced, and of the rest what the choices keep.
func (d *Disk) PowerLoss() {
	lost := 0
	if n := len(d.pending); n > 0 {
		if d.loseNames.Hit(d.options.LoseNames) {
			lost = 1 + d.namesLost.Intn(n)
		}
		for _, c := range d.pending[:n-lost] {
			apply(d.durable, c.sets)
		}
	}
	d.pending = nil
	d.used = 0
	names := make([]string, 0, len(d.durable))
	for name := range d.durable {
		names = append(names, name)
	}
	slices.Sort(names)
	settled := map[*inode]bool{} // a file may have two names for a moment, in a lost rename
	for _, name := range names {
		f := d.durable[name]
		if !settled[f] {
			settled[f] = true
			lost += d.settle(f)
		}
		d.used += int64(len(f.data))
	}
	clear(d.names)
	for name, f := range d.durable {
		d.names[name] = f
	}
	d.e.Emit(engine.Event{Kind: "fault", Actor: d.name, Verb: "power-loss", N: uint64(lost)})
}

// settle decides the fate of each write to f that was not synced and returns how
// many were lost or torn.
func (d *Disk) settle(f *inode) (lost int) {
	for _, w := range f.dirty {
		switch {
		case d.lose.Hit(d.options.Lose):
			lost++
			continue
		case len(w.data) > 0 && d.tear.Hit(d.options.Tear):
			lost++
			w.data = w.data[:d.tearPoint(w)]
		}
		f.synced = w.apply(f.synced)
	}
	f.dirty = nil
	f.data = slices.Clone(f.synced)
	return lost
}

// tearPoint returns how many bytes of a write reached the disk: up to a sector
// boundary inside it, or nothing if it is within one sector.
func (d *Disk) tearPoint(w write) int64 {
	first := sector - w.at%sector // bytes up to the first boundary
	size := int64(len(w.data))
	if first >= size {
		return 0
	}
	boundaries := (size-first-1)/sector + 1
	return first + sector*(boundaries-1-int64(d.tearAt.Intn(int(boundaries))))
}
