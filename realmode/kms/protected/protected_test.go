package protected_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/realmode/kms/protected"
)

func file(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestModes: any access of others is too much.
func TestModes(t *testing.T) {
	for mode := range os.FileMode(0o1000) {
		if mode&0o400 == 0 {
			continue // not even for its owner
		}
		_, err := protected.Read(file(t, "secret", mode), 100)
		if want := mode&0o077 != 0; errors.Is(err, protected.ErrOpen) != want || !want && err != nil {
			t.Errorf("mode %#o: error %v", mode, err)
		}
	}
}

func TestRead(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(file(t, "linked", 0o600), link); err != nil {
		t.Fatal(err)
	}
	wide := filepath.Join(t.TempDir(), "wide")
	if err := os.Symlink(file(t, "linked", 0o604), wide); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, want string }{
		{"a file", file(t, "secret", 0o600), "secret <nil>"},
		{"the largest", file(t, strings.Repeat("x", 10), 0o400), "xxxxxxxxxx <nil>"},
		{"a larger one", file(t, strings.Repeat("x", 11), 0o400), " FILE: it is empty or too large: it has 11 bytes, and 1 to 10 are allowed"},
		{"an empty one", file(t, "", 0o600), " FILE: it is empty or too large: it has 0 bytes, and 1 to 10 are allowed"},
		{"a link, as volumes of Pods have", link, "linked <nil>"},
		{"a link to what others read", wide, " FILE: others may read or change it: it has the mode 0604: chmod it to 0600, and think about who may know what is in it"},
		{"a FIFO, without waiting", fifo, " FILE: it is no regular file"},
		{"a directory", t.TempDir(), " FILE: it is no regular file"},
		{"nothing", "/nowhere", " open FILE: no such file or directory"},
	} {
		data, err := protected.Read(c.file, 10)
		if d := cmp.Diff(strings.ReplaceAll(c.want, "FILE", c.file), fmt.Sprintf("%s %v", data, err)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestAForeignFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	name := file(t, "secret", 0o600)
	if err := os.Chown(name, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := protected.Read(name, 10); !errors.Is(err, protected.ErrForeign) {
		t.Errorf("error %v, want %v", err, protected.ErrForeign)
	}
	// Who may write it all the same leaves it to its owner.
	if err := (protected.Writer{}).Write(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 12345 || st.Gid != 12345 || info.Mode() != 0o600 {
		t.Errorf("it belongs to %d:%d, and has the mode %v", st.Uid, st.Gid, info.Mode())
	}
}

// TestCrashes: wherever writing is cut short, the old content is there or the new, and
// the next attempt succeeds.
func TestCrashes(t *testing.T) {
	crash := errors.New("crash")
	var steps []string
	w := protected.Writer{Before: func(step string) error { steps = append(steps, step); return nil }}
	if err := w.Write(file(t, "old", 0o600), []byte("new")); err != nil {
		t.Fatal(err)
	}
	// What is not on the disk yet must not get the name, and the name has to be there too.
	if d := cmp.Diff([]string{"create", "write", "sync", "rename", "sync the directory"}, steps); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	for i, at := range steps {
		name := file(t, "old", 0o600)
		w := protected.Writer{Before: func(step string) error {
			if step == at {
				return crash
			}
			return nil
		}}
		if err := w.Write(name, []byte("new")); !errors.Is(err, crash) {
			t.Errorf("%s: error %v", at, err)
		}
		want := "old"
		if i > 3 {
			want = "new"
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("after a crash before %q there is %q, %v, want %q", at, got, err, want)
		}
		if err := (protected.Writer{}).Write(name, []byte("newer")); err != nil {
			t.Errorf("after a crash before %q: %v", at, err)
		}
		if got, err := protected.Read(name, 10); err != nil || !bytes.Equal(got, []byte("newer")) {
			t.Errorf("after a crash before %q and another attempt there is %q, %v", at, got, err)
		}
		if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
