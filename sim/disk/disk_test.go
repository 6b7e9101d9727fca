package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/engine"
)

func newDisk(t *testing.T, src engine.Source, o Options) *Disk {
	t.Helper()
	e := engine.New(engine.Config{Source: src, Strict: true, Record: true})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(e, "node-1", o)
}

// simplest is the source under which nothing goes wrong.
func simplest() engine.Source { return engine.NewReplay(engine.Schedule{}) }

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// content returns all files as "name=content".
func content(d *Disk) []string {
	var out []string
	for _, name := range d.List("/") {
		b, err := d.ReadFile("/" + name)
		out = append(out, fmt.Sprintf("%s=%s", name, bytes.ReplaceAll(b, []byte{0}, []byte("·"))))
		if err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}

func TestFiles(t *testing.T) {
	d := newDisk(t, simplest(), Options{})
	must(t,
		d.WriteFile("/a", []byte("hello world")),
		d.WriteFile("/a", []byte("hello")),
		d.Append("/a", []byte(" there")),
		d.WriteAt("/a", 0, []byte("J")),
		d.Append("/b", []byte("12")),
		d.WriteAt("/b", 4, []byte("56")),
		d.WriteFile("/c", nil),
		d.WriteFile("/dir/x", nil),
		d.Truncate("/b", 5),
		d.Truncate("/b", 6),
		d.Rename("/c", "/d"),
		d.Rename("/d", "/d"),
	)
	if diff := cmp.Diff([]string{"a=Jello there", "b=12··5·", "d="}, content(d)); diff != "" {
		t.Error(diff)
	}
	if d.Used() != 17 {
		t.Errorf("used %d", d.Used())
	}
	must(t, d.Rename("/b", "/a"), d.Remove("/d"))
	if diff := cmp.Diff([]string{"a=12··5·"}, content(d)); diff != "" || d.Used() != 6 {
		t.Errorf("used %d, %s", d.Used(), diff)
	}
	if diff := cmp.Diff([]string{"x"}, d.List("/dir/")); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	table := map[string]struct {
		options Options
		op      func(d *Disk) error
		want    error
	}{
		"read what is not there":     {op: func(d *Disk) error { _, err := d.ReadFile("/x"); return err }, want: fs.ErrNotExist},
		"write at what is not there": {op: func(d *Disk) error { return d.WriteAt("/x", 0, nil) }, want: fs.ErrNotExist},
		"truncate":                   {op: func(d *Disk) error { return d.Truncate("/x", 0) }, want: fs.ErrNotExist},
		"rename":                     {op: func(d *Disk) error { return d.Rename("/x", "/y") }, want: fs.ErrNotExist},
		"remove":                     {op: func(d *Disk) error { return d.Remove("/x") }, want: fs.ErrNotExist},
		"sync":                       {op: func(d *Disk) error { return d.Sync("/x") }, want: fs.ErrNotExist},
		"negative offset":            {op: func(d *Disk) error { return d.WriteAt("/f", -1, nil) }, want: syscall.EINVAL},
		"negative size":              {op: func(d *Disk) error { return d.Truncate("/f", -1) }, want: syscall.EINVAL},
		"no space": {
			options: Options{Capacity: 10},
			op:      func(d *Disk) error { return d.Append("/f", []byte("1234567")) },
			want:    syscall.ENOSPC,
		},
		"read fails": {
			options: Options{ReadError: 1_000_000},
			op:      func(d *Disk) error { _, err := d.ReadFile("/f"); return err },
			want:    syscall.EIO,
		},
		"write fails": {
			options: Options{WriteError: 1_000_000},
			op:      func(d *Disk) error { return d.WriteFile("/f", nil) },
			want:    syscall.EIO,
		},
		"sync of a directory fails": {
			options: Options{SyncError: 1_000_000},
			op:      func(d *Disk) error { return d.SyncDir("/") },
			want:    syscall.EIO,
		},
	}
	for name, row := range table {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t, engine.NewSeed(1), Options{})
			must(t, d.WriteFile("/f", []byte("four")))
			d.SetOptions(row.options)
			err := row.op(d)
			var pe *fs.PathError
			if !errors.Is(err, row.want) || !errors.As(err, &pe) {
				t.Errorf("err = %v", err)
			}
			d.SetOptions(Options{})
			if diff := cmp.Diff([]string{"f=four"}, content(d)); diff != "" {
				t.Errorf("the failed operation changed something: %s", diff)
			}
		})
	}
}

func TestSpaceComesBack(t *testing.T) {
	d := newDisk(t, simplest(), Options{Capacity: 10})
	must(t, d.WriteFile("/f", make([]byte, 10)))
	if err := d.Append("/g", []byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("err = %v", err)
	}
	must(t, d.WriteFile("/f", make([]byte, 9)), d.Append("/g", []byte("x")), d.Remove("/f"),
		d.Append("/g", make([]byte, 9)))
}

// What can be found after a power failure, over many seeds. Each story lists every
// possible outcome; all of them, and nothing else, must occur.
func TestPowerLoss(t *testing.T) {
	stories := map[string]struct {
		do   func(t *testing.T, d *Disk)
		want []string
	}{
		"nothing synced": {
			do:   func(t *testing.T, d *Disk) { must(t, d.WriteFile("/f", []byte("new"))) },
			want: []string{"", "f=", "f=new"},
		},
		"file synced, name not": {
			do:   func(t *testing.T, d *Disk) { must(t, d.WriteFile("/f", []byte("new")), d.Sync("/f")) },
			want: []string{"", "f=new"},
		},
		"name synced, file not": {
			do:   func(t *testing.T, d *Disk) { must(t, d.WriteFile("/f", []byte("new")), d.SyncDir("/")) },
			want: []string{"f=", "f=new"},
		},
		"both synced": {
			do: func(t *testing.T, d *Disk) {
				must(t, d.WriteFile("/f", []byte("new")), d.Sync("/f"), d.SyncDir("/"))
			},
			want: []string{"f=new"},
		},
		"overwriting in place": {
			do: func(t *testing.T, d *Disk) {
				must(t, d.WriteFile("/f", []byte("old")), d.Sync("/f"), d.SyncDir("/"), d.WriteFile("/f", []byte("new")))
			},
			want: []string{"f=", "f=new", "f=old"},
		},
		"any of several appends": {
			do: func(t *testing.T, d *Disk) {
				must(t, d.WriteFile("/f", nil), d.Sync("/f"), d.SyncDir("/"), d.Append("/f", []byte("1")), d.Append("/f", []byte("2")))
			},
			want: []string{"f=", "f=1", "f=12", "f=·2"},
		},
		"the safe replacement": {
			do: func(t *testing.T, d *Disk) {
				must(t, d.WriteFile("/f", []byte("old")), d.Sync("/f"), d.SyncDir("/"),
					d.WriteFile("/tmp", []byte("new")), d.Sync("/tmp"), d.Rename("/tmp", "/f"))
			},
			want: []string{"f=new", "f=old", "f=old tmp=new"},
		},
		"the replacement that forgets to sync the file": {
			do: func(t *testing.T, d *Disk) {
				must(t, d.WriteFile("/f", []byte("old")), d.Sync("/f"), d.SyncDir("/"),
					d.WriteFile("/tmp", []byte("new")), d.Rename("/tmp", "/f"), d.SyncDir("/"))
			},
			want: []string{"f=", "f=new"},
		},
		"a removal that was not synced": {
			do: func(t *testing.T, d *Disk) {
				must(t, d.WriteFile("/f", []byte("old")), d.Sync("/f"), d.SyncDir("/"), d.Remove("/f"))
			},
			want: []string{"", "f=old"},
		},
		"a sync that failed has lost the data, though the next succeeds": {
			do: func(t *testing.T, d *Disk) {
				must(t, d.WriteFile("/f", []byte("old")), d.Sync("/f"), d.SyncDir("/"), d.WriteFile("/f", []byte("new")))
				d.SetOptions(Options{SyncError: 1_000_000})
				if err := d.Sync("/f"); !errors.Is(err, syscall.EIO) {
					t.Fatal(err)
				}
				d.SetOptions(Harsh())
				must(t, d.Sync("/f"))
				if diff := cmp.Diff([]string{"f=new"}, content(d)); diff != "" {
					t.Error(diff)
				}
			},
			want: []string{"f=old"},
		},
	}
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for seed := range uint64(300) {
				d := newDisk(t, engine.NewSeed(seed), Harsh())
				s.do(t, d)
				d.PowerLoss()
				got := strings.Join(content(d), " ")
				seen[got] = true
				d.PowerLoss()
				if again := strings.Join(content(d), " "); again != got {
					t.Fatalf("seed %d: a second failure changed %q to %q", seed, got, again)
				}
			}
			var got []string
			for g := range seen {
				got = append(got, g)
			}
			slices.Sort(got)
			if diff := cmp.Diff(s.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The simplest choices lose nothing.
func TestSimplestPowerLoss(t *testing.T) {
	d := newDisk(t, simplest(), Harsh())
	must(t, d.WriteFile("/f", []byte("new")), d.Rename("/f", "/g"))
	d.PowerLoss()
	if diff := cmp.Diff([]string{"g=new"}, content(d)); diff != "" {
		t.Error(diff)
	}
}

// Torn writes end at sector boundaries of the disk.
func TestTornWrites(t *testing.T) {
	seen := map[int]bool{}
	for seed := range uint64(500) {
		d := newDisk(t, engine.NewSeed(seed), Options{Tear: 1_000_000})
		must(t, d.WriteFile("/f", make([]byte, 100)), d.Sync("/f"), d.Append("/f", bytes.Repeat([]byte("x"), 1500)))
		d.PowerLoss()
		b, _ := d.ReadFile("/f")
		seen[len(b)] = true
	}
	if diff := cmp.Diff(map[int]bool{512: true, 1024: true, 1536: true}, seen); diff != "" {
		t.Error(diff)
	}
}

// Tasks of a process use the disk; each call takes time, and a crash before its
// end means that it did not happen. The disk outlives the process.
func TestFS(t *testing.T) {
	d := newDisk(t, simplest(), Options{
		Latency: engine.Constant(time.Millisecond), SyncLatency: engine.Constant(10 * time.Millisecond),
	})
	p := d.e.Process("agent")
	f := d.Mount(p)
	p.Start(func(ctx context.Context) {
		must(t, f.WriteFile(ctx, "/tmp", []byte("new")), f.Append(ctx, "/tmp", []byte("er")), f.WriteAt(ctx, "/tmp", 0, []byte("N")),
			f.Truncate(ctx, "/tmp", 4), f.Sync(ctx, "/tmp"), f.Rename(ctx, "/tmp", "/f"), f.SyncDir(ctx, "/"))
		if d.e.Elapsed() != 25*time.Millisecond {
			t.Errorf("took %v", d.e.Elapsed())
		}
		names, err := f.List(ctx, "/")
		b, err2 := f.ReadFile(ctx, "/f")
		must(t, err, err2)
		if string(b) != "Newe" || !slices.Equal(names, []string{"f"}) {
			t.Errorf("%q in %v", b, names)
		}
		c, cancel := p.WithTimeout(ctx, time.Microsecond)
		defer cancel()
		if err := f.Remove(c, "/f"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		d.e.After(time.Microsecond, func(any) { p.Crash() }, nil)
		_ = f.Remove(ctx, "/f")
		t.Error("outlived the crash")
	})
	if r := d.e.Run(); r.Err != nil {
		t.Fatalf("%+v", r.Err)
	}
	if diff := cmp.Diff([]string{"f=Newe"}, content(f.Disk())); diff != "" {
		t.Error(diff)
	}
}

// TestListNamesTheFilesOfOneDirectory as path.Dir and path.Base see them.
func TestListNamesTheFilesOfOneDirectory(t *testing.T) {
	d := newDisk(t, simplest(), Options{})
	names := []string{"a", "b/c", "/a", "/b", "/b/c", "/b/d/e", "/bb/c", "./x", "/b//y", "/b/../z"}
	for _, name := range names {
		if err := d.WriteFile(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{".", "", "/", "b", "/b", "/b/", "/b/d", "/bb", "/nothing", "/a"} {
		var want []string
		for _, name := range names {
			if name = path.Clean(name); path.Dir(name) == path.Clean(dir) {
				want = append(want, path.Base(name))
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, d.List(dir)); diff != "" {
			t.Errorf("files in %q (-want +got):\n%s", dir, diff)
		}
	}
}
