package scenarios

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

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

	crds        map[string][]*apiextensions.CustomResourceDefinition // by the entry of the cluster's crds
	definitions []*apiextensions.CustomResourceDefinition            // all of them, in the order of the file
	kinds       *kinds                                               // with those
}

// Problem is one mistake in a scenario file, with its place, the names that are
// allowed there and the nearest of them.
type Problem = form.Problem

// Problems is every mistake found in the files read, as an error. Report is the
// long form for a person.
type Problems = form.Problems

// Parse reads and checks one scenario. The error is of type [Problems] and holds
// every mistake in the file. Files that it names are read from beside path.
func (r *Registry) Parse(path string, text []byte) (*File, error) {
	file, problems := r.parse(path, text, osFiles{})
	return file, problems.Err()
}

func (r *Registry) parse(path string, text []byte, files files) (*File, Problems) {
	doc, problems := form.Parse(path, text)
	if len(problems) > 0 {
		return nil, problems
	}
	file := &File{Path: path, Text: text}
	wrong := r.define(doc, file, files)
	d := r.forms.Decode(doc, &file.Scenario)
	for _, w := range wrong {
		d.Fail(w.at, "%s", w.text)
	}
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
	return r.readAll(unique(names), osFiles{})
}

// ReadFS is [Registry.Read] for every scenario file of a file system, such as an
// embedded folder. The files' paths begin with the name given. Folders named testdata
// and hidden ones are left out.
func (r *Registry) ReadFS(fsys fs.FS, name string) ([]*File, error) {
	var names []string
	err := fs.WalkDir(fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != "." && leftOut(entry):
			return fs.SkipDir
		case isScenario(entry):
			names = append(names, path.Join(name, p))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the scenarios of %s: %w", name, err)
	}
	return r.readAll(names, fsFiles{fsys, name})
}

func (r *Registry) readAll(names []string, from files) ([]*File, error) {
	var read []*File
	var problems Problems
	seen := map[string]*File{}
	for _, name := range names {
		text, err := from.read(name)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		file, found := r.parse(name, text, from)
		if len(found) > 0 {
			problems = append(problems, found...)
			continue
		}
		if first := seen[file.Metadata.Name]; first != nil {
			problems = append(problems, Problem{File: name, Path: "metadata.name",
				Message: fmt.Sprintf("the name %q is already used by %s", file.Metadata.Name, first.Path)})
		}
		seen[file.Metadata.Name] = file
		read = append(read, file)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return read, nil
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
		switch {
		case err != nil:
			return err
		case name != p && leftOut(entry):
			return filepath.SkipDir
		case isScenario(entry):
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

// HoldsScenarios reports whether a folder holds scenario files.
func HoldsScenarios(folder string) bool {
	found, err := findFiles(folder)
	return err == nil && len(found) > 0
}

// leftOut reports whether a folder is not searched for scenarios.
func leftOut(entry fs.DirEntry) bool {
	return entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), "."))
}

func isScenario(entry fs.DirEntry) bool { return !entry.IsDir() && path.Ext(entry.Name()) == ".yaml" }

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
