package disk

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

// Options describe a disk. The zero Options are a perfect disk: without limit, at
// once, and a power failure loses nothing.
type Options struct {
	// Capacity is the number of bytes that fit; 0: no limit.
	Capacity int64
	// Latency is the time an operation of [FS] takes; Sync takes SyncLatency.
	Latency, SyncLatency engine.Dist
	// Lose is the probability, for each write that was not synced, that a power
	// failure loses it.
	Lose engine.Prob
	// Tear is the probability that such a write, if not lost, survives in part.
	Tear engine.Prob
	// LoseNames is the probability that a power failure loses changes of names
	// that were not synced: the latest, any number of them.
	LoseNames engine.Prob
	// ReadError, WriteError and SyncError are probabilities of EIO.
	ReadError, WriteError, SyncError engine.Prob
}

// Disk is the file system of one machine. Its methods act at once; errors are
// [*fs.PathError] with an error of package syscall inside.
type Disk struct {
	e       *engine.Engine
	name    string
	options Options
	used    int64

	names   map[string]*inode // as processes see it
	durable map[string]*inode // as a power failure would leave it
	pending []change          // differences between them, in order

	lose, tear, tearAt               *engine.Stream
	loseNames, namesLost             *engine.Stream
	readFault, writeFault, syncFault *engine.Stream
	latency, syncLatency             *engine.Stream
}

// inode is the content of a file.
type inode struct {
	data   []byte  // as processes see it
	synced []byte  // as of the last Sync
	dirty  []write // since then, in order
}

// write is a change of content that was not synced.
type write struct {
	at       int64
	data     []byte
	truncate bool // to length at, before data is written
}

// change is a change of names that was not synced. Nil means removal.
type change struct {
	sets []binding
}

type binding struct {
	name string
	file *inode
}

// Harsh returns options under which code that forgets a sync is caught soon: half
// of what was not synced is lost, and half of the rest is torn.
func Harsh() Options {
	return Options{Lose: 500_000, Tear: 500_000, LoseNames: 500_000}
}

// Perfect returns options of a disk that loses nothing, for where zero Options mean
// something else. Its capacity is out of reach.
func Perfect() Options { return Options{Capacity: math.MaxInt64} }

// New returns an empty disk. The name, usually the machine's, labels its choices.
func New(e *engine.Engine, name string, o Options) *Disk {
	return &Disk{
		e: e, name: name, options: o,
		names: map[string]*inode{}, durable: map[string]*inode{},
		lose: e.Stream("fault/disk-lose", name), tear: e.Stream("fault/disk-tear", name),
		tearAt:    e.Stream("disk/tear-at", name),
		loseNames: e.Stream("fault/disk-lose-names", name), namesLost: e.Stream("disk/names-lost", name),
		readFault: e.Stream("fault/disk-read", name), writeFault: e.Stream("fault/disk-write", name),
		syncFault: e.Stream("fault/disk-sync", name),
		latency:   e.Stream("disk/latency", name), syncLatency: e.Stream("disk/sync-latency", name),
	}
}

// Name returns the name given to New.
func (d *Disk) Name() string { return d.name }

// SetOptions changes the disk's limits, faults and latencies from now on.
func (d *Disk) SetOptions(o Options) { d.options = o }

// Options returns the current options.
func (d *Disk) Options() Options { return d.options }

// Used returns the number of bytes in files.
func (d *Disk) Used() int64 { return d.used }

// WriteFile makes the file empty, or creates it, and writes data.
func (d *Disk) WriteFile(name string, data []byte) error {
	return d.change("write", name, write{truncate: true, data: data}, true)
}

// Append writes data at the end of the file, which it creates if it is not there.
func (d *Disk) Append(name string, data []byte) error {
	var at int64
	if f := d.names[path.Clean(name)]; f != nil {
		at = int64(len(f.data))
	}
	return d.change("append", name, write{at: at, data: data}, true)
}

// WriteAt writes data at an offset of a file. A gap before it reads as zeros.
func (d *Disk) WriteAt(name string, offset int64, data []byte) error {
	if offset < 0 {
		return &fs.PathError{Op: "write", Path: name, Err: syscall.EINVAL}
	}
	return d.change("write", name, write{at: offset, data: data}, false)
}

// Truncate sets the length of a file. New bytes read as zeros.
func (d *Disk) Truncate(name string, size int64) error {
	if size < 0 {
		return &fs.PathError{Op: "truncate", Path: name, Err: syscall.EINVAL}
	}
	return d.change("truncate", name, write{at: size, truncate: true}, false)
}

func (d *Disk) change(op, name string, w write, create bool) error {
	name = path.Clean(name)
	f := d.names[name]
	if f == nil && !create {
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
	}
	if d.writeFault.Hit(d.options.WriteError) {
		return d.fault(op, name, syscall.EIO)
	}
	var before int
	if f != nil {
		before = len(f.data)
	}
	grow := w.sizeAfter(before) - int64(before)
	if d.options.Capacity > 0 && grow > 0 && d.used+grow > d.options.Capacity {
		return d.fault(op, name, syscall.ENOSPC)
	}
	if f == nil {
		f = &inode{}
		d.bind(binding{name, f})
	}
	d.used += grow
	w.data = slices.Clone(w.data)
	f.data = w.apply(f.data)
	f.dirty = append(f.dirty, w)
	d.emit(op, name, uint64(len(w.data)))
	return nil
}

func (w write) sizeAfter(before int) int64 {
	size := int64(before)
	if w.truncate {
		size = w.at
	}
	if len(w.data) == 0 {
		return size
	}
	return max(size, w.at+int64(len(w.data)))
}

// apply returns the content b after the write; it reuses b.
func (w write) apply(b []byte) []byte {
	size := int(w.sizeAfter(len(b)))
	if w.truncate {
		b = b[:min(int64(len(b)), w.at)]
	}
	if n := len(b); n < size {
		b = slices.Grow(b, size-n)[:size]
		clear(b[n:])
	}
	if len(w.data) > 0 {
		copy(b[w.at:], w.data)
	}
	return b
}

// ReadFile returns a copy of the file's content.
func (d *Disk) ReadFile(name string) ([]byte, error) {
	name = path.Clean(name)
	f := d.names[name]
	if f == nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.ENOENT}
	}
	if d.readFault.Hit(d.options.ReadError) {
		return nil, d.fault("read", name, syscall.EIO)
	}
	return slices.Clone(f.data), nil
}

// Size returns how many bytes are in the file.
func (d *Disk) Size(name string) (int64, error) {
	name = path.Clean(name)
	f := d.names[name]
	if f == nil {
		return 0, &fs.PathError{Op: "stat", Path: name, Err: syscall.ENOENT}
	}
	return int64(len(f.data)), nil
}

// Rename gives the file a new name, in place of a file that has it.
func (d *Disk) Rename(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	f := d.names[from]
	if f == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: syscall.ENOENT}
	}
	if from == to {
		return nil
	}
	if old := d.names[to]; old != nil {
		d.used -= int64(len(old.data))
	}
	d.bind(binding{to, f}, binding{from, nil})
	d.emit("rename", from+" to "+to, 0)
	return nil
}

// Remove removes the file.
func (d *Disk) Remove(name string) error {
	name = path.Clean(name)
	f := d.names[name]
	if f == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOENT}
	}
	d.used -= int64(len(f.data))
	d.bind(binding{name, nil})
	d.emit("remove", name, 0)
	return nil
}

// List returns the names of the files in a directory, sorted. Directories need not
// be made; one without files is empty.
func (d *Disk) List(dir string) []string {
	dir = path.Clean(dir)
	var names []string
	for name := range d.names {
		if base, is := in(dir, name); is {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return names
}

// in reports whether a name is in a directory, and what it is called there. It is asked
// of each file whenever any directory is listed. Both are clean, so nothing is made anew.
func in(dir, name string) (base string, is bool) {
	switch at := strings.LastIndexByte(name, '/'); at {
	case -1:
		return name, dir == "."
	case 0:
		return name[1:], dir == "/"
	default:
		return name[at+1:], name[:at] == dir
	}
}

// bind changes names for processes; it is durable after SyncDir.
func (d *Disk) bind(sets ...binding) {
	apply(d.names, sets)
	d.pending = append(d.pending, change{sets})
}

func apply(names map[string]*inode, sets []binding) {
	for _, b := range sets {
		if b.file == nil {
			delete(names, b.name)
		} else {
			names[b.name] = b.file
		}
	}
}

func (d *Disk) fault(op, name string, errno syscall.Errno) error {
	d.e.Emit(engine.Event{Kind: "fault", Actor: d.name, Verb: "disk-" + op, Object: name, N: uint64(errno)})
	return &fs.PathError{Op: op, Path: name, Err: errno}
}

func (d *Disk) emit(op, name string, n uint64) {
	d.e.Emit(engine.Event{Kind: "disk", Actor: d.name, Verb: op, Object: name, N: n})
}
