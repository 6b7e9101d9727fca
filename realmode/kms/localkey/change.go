package localkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seedbed-sim/seedbed/realmode/kms/protected"
)

// Changer changes key files. Two that change one file at once do it one after the other.
type Changer struct {
	Now     func() time.Time
	Entropy io.Reader
	Writer  protected.Writer
}

// Version describes a version without giving it away.
type Version struct {
	ID      string
	Created time.Time
	Primary bool // it seals
}

// lockSuffix is that of the file beside a key file that is locked by who changes it.
const lockSuffix = ".lock"

// Errors of changes.
var (
	ErrExists   = errors.New("it is there already; a new one in its place would make everything unreadable that was sealed with it")
	ErrNoStaged = errors.New("the newest version is the primary already: stage one first, with rotate --stage")
)

// Init makes a file with one version, which seals. It returns its id.
func (c *Changer) Init(name string) (id string, err error) {
	unlock, err := protected.Lock(name + lockSuffix)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = ErrExists
		}
		return "", fmt.Errorf("%s: %w", name, err)
	}
	f := &file{Kind: kind, Primary: 1}
	defer f.wipe()
	if err := c.add(f); err != nil {
		return "", err
	}
	return c.write(name, f)
}

// Rotate adds a version to a file. It seals from now on, unless it is only to be staged.
// Rotate returns its id.
func (c *Changer) Rotate(name string, stage bool) (id string, err error) {
	return c.change(name, func(f *file) error {
		if err := c.add(f); err != nil {
			return err
		}
		if !stage {
			f.Primary = len(f.Keys)
		}
		return nil
	})
}

// Activate makes the newest version seal, and returns its id.
func (c *Changer) Activate(name string) (id string, err error) {
	return c.change(name, func(f *file) error {
		if f.Primary == len(f.Keys) {
			return fmt.Errorf("%s: %w", name, ErrNoStaged)
		}
		f.Primary = len(f.Keys)
		return nil
	})
}

// change returns the id of the newest version.
func (c *Changer) change(name string, edit func(*file) error) (id string, err error) {
	if _, err := os.Stat(name); err != nil {
		return "", err // and no lock is left where no key file is
	}
	unlock, err := protected.Lock(name + lockSuffix)
	if err != nil {
		return "", err
	}
	defer unlock()
	f, err := read(name)
	if err != nil {
		return "", err
	}
	defer f.wipe()
	if err := edit(f); err != nil {
		return "", err
	}
	return c.write(name, f)
}

func (c *Changer) add(f *file) error {
	k := key{Version: len(f.Keys) + 1, Created: c.Now().UTC().Truncate(time.Second), Key: make([]byte, keySize)}
	if _, err := io.ReadFull(c.Entropy, k.Key); err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	f.Keys = append(f.Keys, k)
	return nil
}

func (c *Changer) write(name string, f *file) (id string, err error) {
	if err := f.validate(); err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	if id, err = f.Keys[len(f.Keys)-1].id(); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the key file: %w", err)
	}
	defer clear(data)
	if len(data) >= fileMax {
		return "", fmt.Errorf("%s: there are so many versions that the file would be too large", name)
	}
	return id, c.Writer.Write(name, append(data, '\n'))
}

// Versions returns the versions in a file, the oldest first.
func Versions(name string) ([]Version, error) {
	f, err := read(name)
	if err != nil {
		return nil, err
	}
	defer f.wipe()
	versions := make([]Version, len(f.Keys))
	for i := range f.Keys {
		id, err := f.Keys[i].id()
		if err != nil {
			return nil, err
		}
		versions[i] = Version{ID: id, Created: f.Keys[i].Created, Primary: f.Keys[i].Version == f.Primary}
	}
	return versions, nil
}
