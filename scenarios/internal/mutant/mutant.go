package mutant

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Env is the environment variable that names the bug to run with. Without it, or
// with a name that is not planted, the program is as it was written.
const Env = "SEEDBED_MUTANT"

// Mutant is a bug as it might have been written: one edit within one function.
type Mutant struct {
	Name string // an identifier, unique among those planted together
	File string // path from the root of the module, with slashes
	Old  string // text of the file, found in it exactly once
	New  string // what stands there instead; it needs no other imports
}

var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// plant returns the source with the mutants, all of this file, planted in it.
func plant(src string, mutants []Mutant) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("parse: %w", err)
	}
	s := &source{text: src, base: fset.File(file.FileStart).Base()}
	planted := map[*ast.FuncDecl][]Mutant{}
	var functions []*ast.FuncDecl
	for _, m := range mutants {
		f, err := s.function(file, m)
		if err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		if planted[f] == nil {
			functions = append(functions, f)
		}
		planted[f] = append(planted[f], m)
	}
	// From the end, so that places in front stay where they are.
	slices.SortFunc(functions, func(a, b *ast.FuncDecl) int { return cmp.Compare(b.Pos(), a.Pos()) })
	for _, f := range functions {
		from, to := s.offset(f.Pos()), s.offset(f.End())
		src = src[:from] + s.variants(f, planted[f]) + src[to:]
	}
	return src, nil
}

// packageOf returns the name of the package that a file belongs to.
func packageOf(src string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
	if err != nil {
		return "", fmt.Errorf("parse: %w", err)
	}
	return file.Name.Name, nil
}

// source is a file with its positions.
type source struct {
	text string
	base int
}

func (s *source) offset(p token.Pos) int { return int(p) - s.base }

func (s *source) of(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

// function finds the function that a mutant changes.
func (s *source) function(file *ast.File, m Mutant) (*ast.FuncDecl, error) {
	if n := strings.Count(s.text, m.Old); n != 1 {
		return nil, fmt.Errorf("the text to replace is found %d times, not once:\n%s", n, m.Old)
	}
	at := strings.Index(s.text, m.Old)
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Body != nil && s.offset(f.Body.Pos()) < at && at+len(m.Old) < s.offset(f.Body.End()) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("the text to replace is not in the body of a function:\n%s", m.Old)
}

// variants is the text that stands for a function: one that asks the
// environment, the original, and one for each mutant.
func (s *source) variants(f *ast.FuncDecl, mutants []Mutant) string {
	var b strings.Builder
	signature, call := s.signature(f)
	fmt.Fprintf(&b, "%s {\n\tswitch planted {\n", signature)
	for _, m := range mutants {
		fmt.Fprintf(&b, "\tcase %s:\n\t\t%s\n", strconv.Quote(m.Name), call(m.Name))
	}
	fmt.Fprintf(&b, "\tdefault:\n\t\t%s\n\t}\n}\n\n", call("asWritten"))
	b.WriteString(s.renamed(f, "asWritten", s.of(f)))
	for _, m := range mutants {
		b.WriteString("\n\n" + s.renamed(f, m.Name, strings.Replace(s.of(f), m.Old, m.New, 1)))
	}
	return b.String()
}

// renamed gives the text of a function, changed in its body only, another name.
func (s *source) renamed(f *ast.FuncDecl, variant, text string) string {
	end := s.offset(f.Name.End()) - s.offset(f.Pos())
	return text[:end] + "_" + variant + text[end:]
}

// signature returns the head of a function with names for everything that is
// passed on, and what calls a variant of it.
func (s *source) signature(f *ast.FuncDecl) (head string, call func(variant string) string) {
	var params, args []string
	for _, field := range f.Type.Params.List {
		dots := ""
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			dots = "..."
		}
		for range max(1, len(field.Names)) {
			name := fmt.Sprintf("p%d", len(params))
			params, args = append(params, name+" "+s.of(field.Type)), append(args, name+dots)
		}
	}
	head, callee := "func ", f.Name.Name
	if f.Recv != nil {
		head += "(r " + s.of(f.Recv.List[0].Type) + ") "
		callee = "r." + callee
	}
	head += f.Name.Name + "(" + strings.Join(params, ", ") + ")"
	verb := ""
	if f.Type.Results != nil {
		head += " " + s.of(f.Type.Results)
		verb = "return "
	}
	return head, func(variant string) string {
		return verb + callee + "_" + variant + "(" + strings.Join(args, ", ") + ")"
	}
}
