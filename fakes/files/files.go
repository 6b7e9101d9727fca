package files

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// What can go wrong, as the operating system says it.
var (
	ErrNoSpace = errors.New("no space left on device")
	ErrIO      = errors.New("input/output error")
)

// Files is a file system. Its methods may be called from several goroutines.
type Files struct {
	// Before, if it is not nil, is called before each operation with its name, such as
	// "read", and its path. It may change the file system.
	Before func(op, name string)

	mu      sync.Mutex
	content map[string][]byte
	special map[string]bool   // no regular files
	links   map[string]string // symbolic links
	broken  map[string]error  // by operation and path
	space   int               // bytes that can be written still; negative: any number
}

// New returns an empty file system with space for everything.
func New() *Files {
	return &Files{
		content: map[string][]byte{}, special: map[string]bool{}, links: map[string]string{}, broken: map[string]error{}, space: -1,
	}
}

// SetSpace says how many bytes can be written still; a negative number is no limit.
func (f *Files) SetSpace(bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.space = bytes
}

// Break makes an operation on a path fail until Mend: "list", "stat", "read", "write",
// "sync", "syncdir", "rename" (of the old name) or "remove".
func (f *Files) Break(op, name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken[op+" "+path.Clean(name)] = err
}

// Mend ends what Break began.
func (f *Files) Mend(op, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.broken, op+" "+path.Clean(name))
}

// Put writes a file, whatever is broken.
func (f *Files) Put(name, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content[path.Clean(name)] = []byte(content)
}

// Delete removes what has the name, whatever is broken.
func (f *Files) Delete(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = path.Clean(name)
	delete(f.content, name)
	delete(f.special, name)
	delete(f.links, name)
}

// PutFIFO makes something that no one should read.
func (f *Files) PutFIFO(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.special[path.Clean(name)] = true
}

// Link makes name a symbolic link to what target names.
func (f *Files) Link(name, target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.links[path.Clean(name)] = path.Clean(target)
}

// Content returns what is in a file; false if there is none.
func (f *Files) Content(name string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.content[f.resolve(name)]
	return string(data), ok
}

// begin starts an operation, with f.mu held after it.
func (f *Files) begin(ctx context.Context, op, name string) error {
	if f.Before != nil {
		f.Before(op, name)
	}
	f.mu.Lock()
	err := ctx.Err()
	if err == nil {
		err = f.broken[op+" "+path.Clean(name)]
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// resolve follows symbolic links.
func (f *Files) resolve(name string) string {
	name = path.Clean(name)
	for range 40 {
		target, ok := f.links[name]
		if !ok {
			break
		}
		name = target
	}
	return name
}

// MkdirAll does nothing: directories are there.
func (f *Files) MkdirAll(ctx context.Context, dir string) error {
	defer f.mu.Unlock()
	return f.begin(ctx, "mkdir", dir)
}

// List returns the names in a directory, sorted.
func (f *Files) List(ctx context.Context, dir string) ([]string, error) {
	defer f.mu.Unlock()
	if err := f.begin(ctx, "list", dir); err != nil {
		return nil, err
	}
	all := slices.Concat(slices.Sorted(maps.Keys(f.content)), slices.Sorted(maps.Keys(f.special)), slices.Sorted(maps.Keys(f.links)))
	slices.Sort(all)
	var names []string
	for _, name := range slices.Compact(all) {
		if path.Dir(name) == path.Clean(dir) {
			names = append(names, path.Base(name))
		}
	}
	return names, nil
}

// Regular reports whether name, or what it links to, is a regular file.
func (f *Files) Regular(ctx context.Context, name string) (bool, error) {
	defer f.mu.Unlock()
	if err := f.begin(ctx, "stat", name); err != nil {
		return false, err
	}
	target := f.resolve(name)
	if f.special[target] {
		return false, nil
	}
	if _, ok := f.content[target]; !ok {
		return false, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return true, nil
}

// ReadFile returns the content of a file, but no more than limit bytes of it.
func (f *Files) ReadFile(ctx context.Context, name string, limit int) ([]byte, error) {
	defer f.mu.Unlock()
	if err := f.begin(ctx, "read", name); err != nil {
		return nil, err
	}
	data, ok := f.content[f.resolve(name)]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(data[:min(len(data), limit)]), nil
}

// WriteFile writes a file. When the disk is full what fits is written.
func (f *Files) WriteFile(ctx context.Context, name string, data []byte) error {
	defer f.mu.Unlock()
	if err := f.begin(ctx, "write", name); err != nil {
		return err
	}
	fits := len(data)
	if f.space >= 0 {
		fits = min(fits, f.space)
		f.space -= fits
	}
	f.content[path.Clean(name)] = slices.Clone(data[:fits])
	if fits < len(data) {
		return &fs.PathError{Op: "write", Path: name, Err: ErrNoSpace}
	}
	return nil
}

// Sync fails if it is broken, and does nothing else.
func (f *Files) Sync(ctx context.Context, name string) error {
	defer f.mu.Unlock()
	return f.begin(ctx, "sync", name)
}

// SyncDir fails if it is broken, and does nothing else.
func (f *Files) SyncDir(ctx context.Context, dir string) error {
	defer f.mu.Unlock()
	return f.begin(ctx, "syncdir", dir)
}

// Rename gives a file another name, in place of a file that has it.
func (f *Files) Rename(ctx context.Context, from, to string) error {
	defer f.mu.Unlock()
	if err := f.begin(ctx, "rename", from); err != nil {
		return err
	}
	from, to = path.Clean(from), path.Clean(to)
	data, ok := f.content[from]
	if !ok {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	delete(f.content, from)
	delete(f.links, to)
	delete(f.special, to)
	f.content[to] = data
	return nil
}

// Remove removes a file.
func (f *Files) Remove(ctx context.Context, name string) error {
	defer f.mu.Unlock()
	if err := f.begin(ctx, "remove", name); err != nil {
		return err
	}
	name = path.Clean(name)
	if _, ok := f.content[name]; !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(f.content, name)
	return nil
}

// Names returns the names of all files below a directory, sorted.
func (f *Files) Names(dir string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.content {
		if strings.HasPrefix(name, path.Clean(dir)+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
