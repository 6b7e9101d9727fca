package crd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	slashpath "path"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"
)

// definitionKind is the kind of the documents that are read.
const definitionKind = "CustomResourceDefinition"

// FileError is one mistake in a file of definitions.
type FileError struct {
	File     string
	Document int    // 1 is the first; 0 if the file as a whole is meant
	Name     string // of the definition; empty if it has none
	Field    string // the path within the definition; empty if it as a whole is meant
	Message  string
}

// Error names the file, the document, the definition and the field.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Document > 0 {
		fmt.Fprintf(&b, ": document %d", e.Document)
	}
	if e.Name != "" {
		fmt.Fprintf(&b, ": %s %q", definitionKind, e.Name)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Message)
	return b.String()
}

// FileErrors are all mistakes that were found.
type FileErrors []*FileError

// Error is one mistake a line.
func (es FileErrors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first mistake.
func (es FileErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// ReadFiles reads the CustomResourceDefinitions of a file system, such as the
// folder config/crd/bases of a controller, and checks them as a server would. A
// path names a file, in YAML or JSON, or a folder, whose files are read but not
// its folders. Documents of other kinds are passed over; a path without any
// definition is a mistake.
//
// Unlike a server, which only warns, it refuses unknown and duplicate fields: they
// are misspelt. The error joins a [FileError] for each mistake found.
func (c *Cache) ReadFiles(fsys fs.FS, paths ...string) ([]*apiextensions.CustomResourceDefinition, error) {
	r := &fileReader{fsys: fsys, cache: c, from: map[string]string{}}
	for _, p := range paths {
		r.path(slashpath.Clean(p))
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return r.found, nil
}

// fileReader collects definitions and mistakes.
type fileReader struct {
	fsys  fs.FS
	cache *Cache
	found []*apiextensions.CustomResourceDefinition
	from  map[string]string // files of definitions, by name
	errs  FileErrors
}

func (r *fileReader) fail(e FileError, format string, args ...any) {
	e.Message = fmt.Sprintf(format, args...)
	r.errs = append(r.errs, &e)
}

func (r *fileReader) path(p string) {
	before, wrong := len(r.found), len(r.errs)
	files, err := filesAt(r.fsys, p)
	if err != nil {
		r.fail(FileError{File: p}, "%v", plainReason(err))
		return
	}
	for _, file := range files {
		text, err := fs.ReadFile(r.fsys, file)
		if err != nil {
			r.fail(FileError{File: file}, "%v", plainReason(err))
			continue
		}
		r.file(file, text)
	}
	if len(r.found) == before && len(r.errs) == wrong {
		r.fail(FileError{File: p}, "there is no %s", definitionKind)
	}
}

// plainReason is err without the path, which the message has already.
func plainReason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// filesAt is a file itself, or the files of a folder that may hold definitions, in
// the order of their names.
func filesAt(fsys fs.FS, p string) ([]string, error) {
	info, err := fs.Stat(fsys, p)
	if err != nil || !info.IsDir() {
		return []string{p}, err
	}
	entries, err := fs.ReadDir(fsys, p)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, slashpath.Ext(e.Name())) {
			files = append(files, slashpath.Join(p, e.Name()))
		}
	}
	return files, nil
}

func (r *fileReader) file(file string, text []byte) {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			r.fail(FileError{File: file, Document: number}, "%v", err)
			return
		}
		r.document(FileError{File: file, Document: number}, document)
	}
}

// document reads one document; at says where it is.
func (r *fileReader) document(at FileError, text []byte) {
	data, err := sigsyaml.YAMLToJSONStrict(text)
	if err != nil {
		r.fail(at, "%s", oneLine(err))
		return
	}
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil || head.Kind != definitionKind {
		return // of another kind, be it as odd as it may
	}
	at.Name = head.Metadata.Name
	if want := apiextensions.SchemeGroupVersion.String(); head.APIVersion != want {
		at.Field = "apiVersion"
		r.fail(at, "%q is not served; write %s", head.APIVersion, want)
		return
	}
	d := &apiextensions.CustomResourceDefinition{}
	strict, err := kjson.UnmarshalStrict(data, d, kjson.DisallowUnknownFields)
	if err != nil {
		r.wrongType(at, oneLine(err))
		return
	}
	for _, problem := range strict {
		r.strict(at, problem)
	}
	if len(strict) == 0 {
		r.definition(at, d)
	}
}

// wrongType tells that a value cannot be what its field is. The decoder says so in
// the words of Go.
func (r *fileReader) wrongType(at FileError, text string) {
	text = strings.TrimPrefix(text, "json: ")
	value, rest, ok := strings.Cut(strings.TrimPrefix(text, "cannot unmarshal "), " into Go struct field ")
	_, field, dotted := strings.Cut(rest, ".")
	field, _, typed := strings.Cut(field, " of type ")
	if !ok || !dotted || !typed {
		r.fail(at, "%s", text)
		return
	}
	at.Field = field
	r.fail(at, "the field does not take a value of the kind %s", value)
}

// strict tells an unknown field, at its place.
func (r *fileReader) strict(at FileError, problem error) {
	if field, ok := strings.CutPrefix(problem.Error(), `unknown field "`); ok {
		at.Field = strings.TrimSuffix(field, `"`)
		r.fail(at, "there is no such field")
		return
	}
	r.fail(at, "%v", problem)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// definition checks a definition that could be read.
func (r *fileReader) definition(at FileError, d *apiextensions.CustomResourceDefinition) {
	if first, twice := r.from[d.Name]; twice {
		r.fail(at, "it is defined in %s already", first)
		return
	}
	r.from[d.Name] = at.File
	apiextensions.SetObjectDefaults_CustomResourceDefinition(d)
	d.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, v := range d.Spec.Versions {
		if v.Storage {
			d.Status.StoredVersions = append(d.Status.StoredVersions, v.Name)
		}
	}
	for _, e := range r.cache.Validate(nil, d, nil) {
		at.Field = e.Field
		r.fail(at, "%s", e.ErrorBody())
	}
	d.Status = apiextensions.CustomResourceDefinitionStatus{}
	r.found = append(r.found, d)
}
