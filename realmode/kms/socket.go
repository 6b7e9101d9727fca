package kms

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seedbed-sim/seedbed/realmode/kms/protected"
)

// Modes of what is made.
const (
	socketMode = 0o600
	dirMode    = 0o700
)

// Files beside a socket, by what their names have at the end: the one that is locked
// while the socket changes hands, and the new socket before it gets its name.
const (
	lockSuffix = ".lock"
	newSuffix  = ".new"
)

// pathMax is the longest path that a socket can have, without the byte that ends it.
const pathMax = 107

// dialTimeout is how long whoever listens on a socket may take to be noticed.
const dialTimeout = time.Second

// Errors of sockets.
var (
	ErrOccupied  = errors.New("another process answers on it")
	ErrTakenOver = errors.New("another process has taken the socket over")
	ErrRemoved   = errors.New("the socket was removed")
)

// SocketPath returns the path of an endpoint, such as unix:///run/kms/kms.sock.
func SocketPath(endpoint string) (string, error) {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	switch {
	case !ok || !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "@"):
		return "", fmt.Errorf("%q is no socket of an absolute path, such as unix:///run/kms/kms.sock", endpoint)
	case strings.HasPrefix(path, "@"):
		return "", fmt.Errorf("%q is an abstract socket, which everybody on the machine may connect to: use a path, such as unix:///run/kms/kms.sock", endpoint)
	case filepath.Clean(path) != path || filepath.Base(path) == "/":
		return "", fmt.Errorf("%q is no clean path of a file", endpoint)
	case len(path)+len(newSuffix) > pathMax:
		return "", fmt.Errorf("the path of %q has %d bytes, and %d are allowed", endpoint, len(path), pathMax-len(newSuffix))
	}
	return path, nil
}

// socket is one that this process listens on.
type socket struct {
	net.Listener
	path string
	id   fs.FileInfo // of the file that is this socket
}

// listen makes the socket. Somebody who listens there already keeps it, unless it is to
// be taken over: then it changes hands in one step, in which every client finds either
// process. A socket on which nobody answers is replaced.
func listen(path string, takeOver, sharedDir bool) (*socket, error) {
	if err := checkDir(filepath.Dir(path), sharedDir); err != nil {
		return nil, err
	}
	unlock, err := protected.Lock(path + lockSuffix)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := vacant(path, takeOver); err != nil {
		return nil, err
	}
	if err := os.Remove(path + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove what a process has left behind: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + newSuffix, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // the name may be another's by then
	s := &socket{Listener: l, path: path}
	if err := s.name(); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close())
	}
	return s, nil
}

// name gives the socket its mode and then its name.
func (s *socket) name() error {
	if err := os.Chmod(s.path+newSuffix, socketMode); err != nil {
		return err
	}
	var err error
	if s.id, err = os.Lstat(s.path + newSuffix); err != nil {
		return err
	}
	return os.Rename(s.path+newSuffix, s.path)
}

// mine returns an error if the name of the socket is not its own any more.
func (s *socket) mine() error {
	switch id, err := os.Lstat(s.path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", s.path, ErrRemoved)
	case err != nil:
		return fmt.Errorf("look at the socket: %w", err)
	case !os.SameFile(id, s.id):
		return fmt.Errorf("%s: %w", s.path, ErrTakenOver)
	}
	return nil
}

// remove removes the socket, unless it is another's by now.
func (s *socket) remove() error {
	unlock, err := protected.Lock(s.path + lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	switch err := s.mine(); {
	case errors.Is(err, ErrTakenOver), errors.Is(err, ErrRemoved):
		return nil
	case err != nil:
		return err
	}
	if err := os.Remove(s.path); err != nil {
		return fmt.Errorf("remove the socket: %w", err)
	}
	return nil
}

// checkDir makes the directory of the socket if it is missing, and refuses one in which
// others could put another socket in place of this.
func checkDir(dir string, shared bool) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("make the directory of the socket: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the directory of the socket: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch mode := info.Mode().Perm(); {
	case shared:
		return nil
	case mode&0o022 != 0:
		return fmt.Errorf("the directory %s of the socket has the mode %#o, so others could replace the socket: chmod it to 0700, or say --shared-directory if only trusted containers see it", dir, mode)
	case int(owner) != os.Geteuid() && owner != 0:
		return fmt.Errorf("the directory %s of the socket belongs to user %d, who could replace the socket: give it to user %d", dir, owner, os.Geteuid())
	}
	return nil
}

// vacant returns an error if something is at the path that must not be replaced.
func vacant(path string, takeOver bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket: remove it, or listen elsewhere", path)
	}
	conn, err := net.DialTimeout("unix", path, dialTimeout)
	switch {
	case err == nil:
		_ = conn.Close() // nothing was sent
		if !takeOver {
			return fmt.Errorf("%s: %w: stop that one, or say --take-over", path, ErrOccupied)
		}
		return nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil // the process has died
	default:
		return fmt.Errorf("find out whether somebody listens on %s: %w", path, err)
	}
}
