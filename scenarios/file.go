package scenarios

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// File is a scenario file that has been read and found valid. Runs share it; it
// is never changed.
type File struct {
	Path string // as given by the caller, for messages
	Text []byte
	Scenario

	systems    []*System // in the order of the file
	properties []*Property
	own        []*PropertyUse // the scenario's own conditions
}

// Problem is one mistake in a scenario file, with its place, the names that are
// allowed there and the nearest of them.
type Problem = form.Problem

// Problems is every mistake found in the files read, as an error. Report is the
// long form for a person.
type Problems = form.Problems

// Parse reads and checks one scenario. The error is of type [Problems] and holds
// every mistake in the file.
func (r *Registry) Parse(path string, text []byte) (*File, error) {
	file, problems := r.parse(path, text)
	return file, problems.Err()
}

func (r *Registry) parse(path string, text []byte) (*File, Problems) {
	doc, problems := form.Parse(path, text)
	if len(problems) > 0 {
		return nil, problems
	}
	file := &File{Path: path, Text: text}
	d := r.forms.Decode(doc, &file.Scenario)
	r.check(d, file)
	if problems := d.Problems(); len(problems) > 0 {
		return nil, problems
	}
	return file, nil
}

// Read reads and checks the scenario files at the given paths: files, or folders
// that are searched for *.yaml files. The error is of type [Problems] if any
// file has a mistake, and no file is returned then.
func (r *Registry) Read(paths ...string) ([]*File, error) {
	var names []string
	for _, p := range paths {
		found, err := findFiles(p)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	return r.readAll(unique(names), os.ReadFile)
}

// ReadFS is [Registry.Read] for every scenario file of a file system, such as an
// embedded folder. The files' paths begin with the name given.
func (r *Registry) ReadFS(fsys fs.FS, name string) ([]*File, error) {
	var names []string
	err := fs.WalkDir(fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(p) == ".yaml" {
			names = append(names, path.Join(name, p))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the scenarios of %s: %w", name, err)
	}
	return r.readAll(names, func(p string) ([]byte, error) { return fs.ReadFile(fsys, strings.TrimPrefix(p, name+"/")) })
}

func (r *Registry) readAll(names []string, read func(string) ([]byte, error)) ([]*File, error) {
	var files []*File
	var problems Problems
	seen := map[string]*File{}
	for _, name := range names {
		text, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		file, found := r.parse(name, text)
		if len(found) > 0 {
			problems = append(problems, found...)
			continue
		}
		if first := seen[file.Metadata.Name]; first != nil {
			problems = append(problems, Problem{File: name, Path: "metadata.name",
				Message: fmt.Sprintf("the name %q is already used by %s", file.Metadata.Name, first.Path)})
		}
		seen[file.Metadata.Name] = file
		files = append(files, file)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return files, nil
}

// findFiles returns a file itself, or the scenario files below a folder. Folders
// named testdata and hidden ones are left out, as the go tool does.
func findFiles(p string) ([]string, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, pathError(p, err)
	}
	if !info.IsDir() {
		return []string{p}, nil
	}
	var found []string
	err = filepath.WalkDir(p, func(name string, entry fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != p && (base == "testdata" || strings.HasPrefix(base, ".")):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(name) == ".yaml":
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s holds no scenario files: their names end in .yaml", p)
	}
	return found, nil
}

func pathError(p string, err error) error {
	if os.IsNotExist(err) {
		folder := filepath.Dir(p)
		entries, listErr := os.ReadDir(folder)
		if listErr == nil {
			// The folder is the same for all: what counts is the last name.
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			if near := form.Nearest(filepath.Base(p), names); near != "" {
				return fmt.Errorf("%s does not exist; did you mean %q?", p, filepath.Join(folder, near))
			}
		}
		return fmt.Errorf("%s does not exist; give a scenario file, or a folder with *.yaml files", p)
	}
	return fmt.Errorf("read scenario: %w", err)
}

func unique(names []string) []string {
	var out []string
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
