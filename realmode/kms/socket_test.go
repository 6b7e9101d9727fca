package kms_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/realmode/kms"
)

// Lstat looks at the socket.
func (m *machine) Lstat() (fs.FileInfo, error) { return os.Lstat(m.path) }

func TestSocketPath(t *testing.T) {
	var got []string
	for _, endpoint := range []string{
		"unix:///run/kms/kms.sock", "/run/kms.sock", "unix://run/kms.sock", "tcp://127.0.0.1:80", "unix://@kms", "unix:///run/../kms.sock", "unix:///", "unix:///" + strings.Repeat("x", 103),
	} {
		path, err := kms.SocketPath(endpoint)
		got = append(got, fmt.Sprint(path, err))
	}
	want := []string{
		"/run/kms/kms.sock<nil>",
		`"/run/kms.sock" is no socket of an absolute path, such as unix:///run/kms/kms.sock`,
		`"unix://run/kms.sock" is no socket of an absolute path, such as unix:///run/kms/kms.sock`,
		`"tcp://127.0.0.1:80" is no socket of an absolute path, such as unix:///run/kms/kms.sock`,
		`"unix://@kms" is an abstract socket, which everybody on the machine may connect to: use a path, such as unix:///run/kms/kms.sock`,
		`"unix:///run/../kms.sock" is no clean path of a file`,
		`"unix:///" is no clean path of a file`,
		`the path of "unix:///` + strings.Repeat("x", 103) + `" has 104 bytes, and 103 are allowed`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSocketIsForItsUserAlone whatever the mask of the process says.
func TestSocketIsForItsUserAlone(t *testing.T) {
	m, _ := newScripted(t)
	if info, err := m.Lstat(); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket has the mode %v, error %v", info.Mode(), err)
	}
}

// TestASharedDirectory is refused unless it was asked for.
func TestASharedDirectory(t *testing.T) {
	m, _ := newScripted(t)
	m.Stop()
	if err := os.Chmod(filepath.Dir(m.path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := kms.Start(t.Context(), m.config()); err == nil || !strings.Contains(err.Error(), "has the mode 0777, so others could replace the socket") {
		t.Errorf("error %v", err)
	}
	cfg := m.config()
	cfg.SharedDirectory = true
	server, err := kms.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.run(server)
	m.said("v1 ok")
}

// TestSocketsThatAreThere: one on which nobody answers is replaced, any other is not.
func TestSocketsThatAreThere(t *testing.T) {
	m, _ := newScripted(t)
	m.Stop()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: m.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if _, err := kms.Start(t.Context(), m.config()); !errors.Is(err, kms.ErrOccupied) {
		t.Errorf("with another who listens: %v, want %v", err, kms.ErrOccupied)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	m.Start() // replaces what is left
	m.said("v1 ok")
	m.Stop()
	if err := os.WriteFile(m.path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kms.Start(t.Context(), m.config()); err == nil || !strings.Contains(err.Error(), "is there and is no socket") {
		t.Errorf("with a file: %v", err)
	}
	if content, err := os.ReadFile(m.path); err != nil || string(content) != "precious" {
		t.Errorf("the file holds %q, %v", content, err)
	}
}

// TestTheSocketOfTheNextIsLeftAlone by the one before, when it ends.
func TestTheSocketOfTheNextIsLeftAlone(t *testing.T) {
	m, _ := newScripted(t)
	before := m.ended
	cfg := m.config()
	cfg.TakeOver = true
	server, err := kms.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.run(server)
	if err := <-before; err != nil {
		t.Errorf("the server that was taken over ended with %v", err)
	}
	if err := server.Ready(); err != nil {
		t.Errorf("the next is not ready: %v", err)
	}
	m.said("v1 ok")
}

// TestASocketThatIsRemoved is an error, for whoever runs the server.
func TestASocketThatIsRemoved(t *testing.T) {
	m, _ := newScripted(t)
	if err := os.Remove(m.path); err != nil {
		t.Fatal(err)
	}
	if err := m.server.Ready(); !errors.Is(err, kms.ErrRemoved) {
		t.Errorf("ready: %v, want %v", err, kms.ErrRemoved)
	}
	if err := <-m.ended; !errors.Is(err, kms.ErrRemoved) {
		t.Errorf("it ended with %v, want %v", err, kms.ErrRemoved)
	}
	m.server = nil
}
