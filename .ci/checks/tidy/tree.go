package tidy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// finding is one breach of a rule.
type finding struct {
	file string // relative to the root of the tree
	line int    // 0 for the file as a whole
	text string
}

func (f finding) String() string {
	if f.line == 0 {
		return fmt.Sprintf("%s: %s", f.file, f.text)
	}
	return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.text)
}

// tree is the content of every file under version control, by path.
type tree map[string]string

// names returns the paths in order.
func (t tree) names() []string {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// goFile is one parsed Go file.
type goFile struct {
	name string
	text string
	ast  *ast.File
	fset *token.FileSet
}

func (f goFile) test() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f goFile) line(p token.Pos) int { return f.fset.Position(p).Line }

// goFiles parses the Go files that people write: neither generated ones nor
// the inputs of tests.
func (t tree) goFiles() ([]goFile, []finding) {
	var files []goFile
	var findings []finding
	for _, name := range t.names() {
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, name, t[name], parser.ParseComments)
		switch {
		case err != nil:
			findings = append(findings, finding{name, 0, err.Error()})
		case !ast.IsGenerated(parsed):
			files = append(files, goFile{name, t[name], parsed, fset})
		}
	}
	return files, findings
}

// lines calls visit for each line of text with its number.
func lines(text string, visit func(n int, line string)) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		visit(n, strings.TrimRight(line, "\r\n"))
	}
}

// check runs every rule.
func check(t tree) []finding {
	files, findings := t.goFiles()
	findings = append(findings, sizes(files)...)
	findings = append(findings, packages(files)...)
	findings = append(findings, names(t)...)
	findings = append(findings, words(t)...)
	findings = append(findings, directives(files)...)
	findings = append(findings, links(t)...)
	findings = append(findings, modules(t)...)
	slices.SortStableFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return findings
}
