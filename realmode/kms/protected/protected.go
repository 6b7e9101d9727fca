package protected

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// mode is that of files that are written.
const mode = 0o600

// Errors of files that must not be used.
var (
	ErrOpen    = errors.New("others may read or change it")
	ErrForeign = errors.New("it belongs to somebody else")
	ErrSize    = errors.New("it is empty or too large")
	errNoFile  = errors.New("it is no regular file")
)

// Read returns the content of a file of 1 to limit bytes that belongs to this user or to
// root, and to which nobody else has access. Symbolic links are followed; what is
// checked is the very file that is read. The caller should clear the content after use.
func Read(name string, limit int) (data []byte, err error) {
	// A FIFO would not open otherwise.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(info); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if info.Size() == 0 || info.Size() > int64(limit) {
		return nil, fmt.Errorf("%s: %w: it has %d bytes, and 1 to %d are allowed", name, ErrSize, info.Size(), limit)
	}
	data = make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		clear(data)
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

func check(info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNoFile
	}
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return fmt.Errorf("%w: it has the mode %#o: chmod it to 0600, and think about who may know what is in it", ErrOpen, m)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() && owner != 0 {
		return fmt.Errorf("%w: user %d: give it to user %d", ErrForeign, owner, os.Geteuid())
	}
	return nil
}

// Lock locks a file of that name, which is made if it is missing, until unlock is called
// or the process ends.
func Lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { _ = f.Close() }, nil // which unlocks
}

// newSuffix is at the end of the name of what is being written.
const newSuffix = ".new"

// Writer replaces files in one step. The zero Writer does.
type Writer struct {
	// Before, if it is not nil, is called before each step with its name: "create",
	// "write", "sync", "rename", "sync the directory". An error of it is as a crash
	// there: nothing else is done, and nothing is cleaned up.
	Before func(step string) error
}

// Write writes a file that only its owner may read. Whenever it is cut short, by a crash
// of the machine as well, either the old content is there or the new, and whole. After
// nil the new content is there for good. Two must not write one file at once.
func (w Writer) Write(name string, data []byte) error {
	next := name + newSuffix
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove what was left behind: %w", err)
	}
	var f *os.File
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"create", func() (err error) {
			f, err = os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
			return err
		}},
		{"write", func() error { return fill(f, name, data) }},
		{"sync", func() error { return f.Sync() }},
		{"rename", func() error { return os.Rename(next, name) }},
		{"sync the directory", func() error { return syncDir(filepath.Dir(name)) }},
	} {
		err := error(nil)
		if w.Before != nil {
			err = w.Before(step.name)
		}
		if err == nil {
			err = step.do()
		}
		if err != nil {
			_ = f.Close() // what is in it does not count
			return fmt.Errorf("write %s: %s: %w", name, step.name, err)
		}
	}
	return f.Close()
}

// fill writes data into f, and gives it to the owner of the file that it will replace.
func fill(f *os.File, replaces string, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	info, err := os.Stat(replaces)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	if int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
