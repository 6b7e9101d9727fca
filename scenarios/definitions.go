package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// files is where scenarios are read from, and what they name.
type files interface {
	read(name string) ([]byte, error)

	// definitions reads the CustomResourceDefinitions that the scenario at name
	// calls p, or tells what is wrong with them.
	definitions(cache *crd.Cache, name, p string) ([]*apiextensions.CustomResourceDefinition, []string)
}

type osFiles struct{}

func (osFiles) read(name string) ([]byte, error) { return os.ReadFile(name) }

func (osFiles) definitions(cache *crd.Cache, name, p string) ([]*apiextensions.CustomResourceDefinition, []string) {
	full := filepath.FromSlash(p)
	if !filepath.IsAbs(full) {
		full = filepath.Join(filepath.Dir(name), full)
	}
	full, err := filepath.Abs(full)
	if err != nil {
		return nil, []string{fmt.Sprintf("%s: %v", p, err)}
	}
	return readDefinitions(cache, p, os.DirFS(filepath.Dir(full)), filepath.Base(full))
}

// fsFiles are the files of fsys, whose names begin with a prefix.
type fsFiles struct {
	fsys   fs.FS
	prefix string
}

func (f fsFiles) in(name string) string { return strings.TrimPrefix(name, f.prefix+"/") }

func (f fsFiles) read(name string) ([]byte, error) { return fs.ReadFile(f.fsys, f.in(name)) }

func (f fsFiles) definitions(cache *crd.Cache, name, p string) ([]*apiextensions.CustomResourceDefinition, []string) {
	full := path.Join(path.Dir(f.in(name)), p)
	if !fs.ValidPath(full) || path.IsAbs(p) {
		return nil, []string{p + ": it is outside of the folder that is read"}
	}
	return readDefinitions(cache, p, f.fsys, full)
}

// readDefinitions reads what a scenario calls p and fsys name.
func readDefinitions(cache *crd.Cache, p string, fsys fs.FS, name string) ([]*apiextensions.CustomResourceDefinition, []string) {
	found, err := cache.ReadFiles(fsys, name)
	var all crd.FileErrors
	if !errors.As(err, &all) {
		return found, nil
	}
	wrong := make([]string, 0, len(all))
	for _, e := range all {
		// As the scenario calls it: what is above is not of interest.
		shown := *e
		shown.File = path.Join(path.Dir(p), strings.TrimPrefix(e.File, strings.TrimSuffix(name, path.Base(name))))
		wrong = append(wrong, shown.Error())
	}
	return nil, wrong
}

// savedFiles are the definitions of a scenario that was saved with them.
type savedFiles struct {
	osFiles
	crds map[string][]*apiextensions.CustomResourceDefinition
}

func (f savedFiles) definitions(_ *crd.Cache, _, p string) ([]*apiextensions.CustomResourceDefinition, []string) {
	found, ok := f.crds[p]
	if !ok {
		return nil, []string{p + ": it was not saved with the scenario"}
	}
	return found, nil
}

// mistake is something wrong with what a scenario names.
type mistake struct {
	at   form.Place
	text string
}

// define reads the CustomResourceDefinitions that a scenario names, before all
// else: its manifests and conditions may be about the kinds that they define.
func (r *Registry) define(doc *form.Document, file *File, from files) []mistake {
	file.kinds = r.kinds
	root := form.Place{Node: doc.Root}
	wrong := r.defineOfSystems(at(root, "systems"), file)
	entries, ok := child(at(root, "cluster"), "crds")
	if ok = ok && entries.Node.Kind == yaml.SequenceNode; ok {
		wrong = append(wrong, r.defineNamed(entries, file, from)...)
	} else {
		entries = at(root, "systems")
	}
	if len(file.definitions) == 0 {
		return wrong
	}
	server := apiserver.New(apiserver.Options{Scheme: r.kinds.scheme, Definitions: &r.compiled})
	if err := server.Define(file.definitions...); err != nil {
		return append(wrong, mistake{entries, err.Error()})
	}
	file.kinds = newKinds(r.kinds.scheme, server.Store())
	doc.Facts = file.kinds
	return wrong
}

// defineOfSystems takes the definitions that systems bring.
func (r *Registry) defineOfSystems(systems form.Place, file *File) (wrong []mistake) {
	for _, s := range r.systems {
		place, used := child(systems, s.Name)
		if !used || s.Definitions == nil {
			continue
		}
		found, err := r.compiled.ReadFiles(s.Definitions, ".")
		if err != nil {
			wrong = append(wrong, mistake{place, err.Error()})
		}
		file.definitions = append(file.definitions, found...)
	}
	return wrong
}

// defineNamed takes the definitions that the cluster's crds name.
func (r *Registry) defineNamed(entries form.Place, file *File, from files) (wrong []mistake) {
	first := map[string]string{}
	for _, d := range file.definitions {
		first[d.Name] = "a system"
	}
	for i, node := range entries.Node.Content {
		place := entries.Index(i, node)
		found, mistakes := r.definitionsAt(place, file, from)
		wrong = append(wrong, mistakes...)
		for _, d := range found {
			if known, twice := first[d.Name]; twice {
				wrong = append(wrong, mistake{place, fmt.Sprintf("%s is defined by %s already", d.Name, known)})
				continue
			}
			first[d.Name] = node.Value
			file.definitions = append(file.definitions, d)
		}
	}
	return wrong
}

// definitionsAt reads one entry of the cluster's crds.
func (r *Registry) definitionsAt(entry form.Place, file *File, from files) ([]*apiextensions.CustomResourceDefinition, []mistake) {
	switch {
	case entry.Node.Kind != yaml.ScalarNode:
		return nil, nil // told when it is decoded
	case entry.Node.Value == "":
		return nil, []mistake{{entry, "no file or folder is named"}}
	}
	found, texts := from.definitions(&r.compiled, file.Path, entry.Node.Value)
	wrong := make([]mistake, len(texts))
	for i, text := range texts {
		wrong[i] = mistake{entry, text}
	}
	if file.crds == nil {
		file.crds = map[string][]*apiextensions.CustomResourceDefinition{}
	}
	file.crds[entry.Node.Value] = found
	return found, wrong
}

// kindsOf are the kinds that the file at hand may name: those that it defines, and
// others.
func kindsOf(d *form.Decoder, others *kinds) *kinds {
	if k, ok := d.Doc.Facts.(*kinds); ok {
		return k
	}
	return others
}
