package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seedbed-sim/seedbed/scenarios"
)

// readProblems turns an error of reading scenario files into the command's
// answer. Mistakes in files are shown in full.
func (a *app) readProblems(err error) error {
	var problems scenarios.Problems
	if !errors.As(err, &problems) {
		return badInput("%v", err)
	}
	fmt.Fprint(a.err, problems.Report())
	var files []string
	for _, p := range problems {
		if !slices.Contains(files, p.File) {
			files = append(files, p.File)
		}
	}
	return badInput("%s in %s; nothing was run", scenarios.Count(len(problems), "mistake"), scenarios.Count(len(files), "file"))
}

// read reads what the arguments name: files and folders, and built-in scenarios
// by their name, their path or the folder of their system. A file on the disk
// goes first. Without arguments it reads the whole library.
func (a *app) read(args []string) ([]*scenarios.File, error) {
	var paths, names []string
	for _, arg := range args {
		if _, err := os.Stat(arg); err == nil {
			paths = append(paths, arg)
		} else {
			names = append(names, arg)
		}
	}
	var files []*scenarios.File
	var err error
	if len(paths) > 0 {
		if files, err = a.registry.Read(paths...); err != nil {
			return nil, a.readProblems(err)
		}
	}
	if len(names) == 0 && len(args) > 0 {
		return files, nil
	}
	all, err := a.builtIn()
	switch {
	case err != nil:
		return nil, err
	case len(args) == 0 && len(all) == 0:
		return nil, badInput("this program has no built-in scenarios; give a scenario file or a folder")
	case len(args) == 0:
		return all, nil
	}
	for _, name := range names {
		found := named(all, name)
		if len(found) == 0 {
			return nil, a.notFound(all, name)
		}
		for _, file := range found {
			if err := clash(files, file); err != nil {
				return nil, err
			}
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// builtIn reads the library.
func (a *app) builtIn() ([]*scenarios.File, error) {
	if a.library == nil {
		return nil, nil
	}
	files, err := a.library()
	if err != nil {
		return nil, a.readProblems(err)
	}
	return files, nil
}

// named picks the built-in scenarios of a name, a path or a folder.
func named(all []*scenarios.File, name string) []*scenarios.File {
	var found []*scenarios.File
	for _, file := range all {
		if file.Metadata.Name == name || file.Path == name || strings.HasPrefix(file.Path, strings.TrimSuffix(name, "/")+"/") {
			found = append(found, file)
		}
	}
	return found
}

// notFound says that an argument names nothing, and what was probably meant.
func (a *app) notFound(all []*scenarios.File, name string) error {
	names := make([]string, len(all))
	for i, file := range all {
		names[i] = file.Metadata.Name
	}
	if near := scenarios.Nearest(name, names); near != "" {
		return badInput("%q is neither a file nor a built-in scenario; did you mean %q?", name, near)
	}
	_, err := a.registry.Read(name)
	return badInput("%v", err)
}

// clash refuses a built-in scenario of the same name as a file.
func clash(files []*scenarios.File, file *scenarios.File) error {
	for _, other := range files {
		if other != file && other.Metadata.Name == file.Metadata.Name {
			return badInput("%s and the built-in %s are both called %q; run them one after the other", other.Path, file.Path, file.Metadata.Name)
		}
	}
	return nil
}
