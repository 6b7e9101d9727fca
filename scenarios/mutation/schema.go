package mutation

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// How generated files import package switches.
const (
	alias        = "seedbedSwitches"
	switchesPath = "github.com/seedbed-sim/seedbed/scenarios/mutation/switches"
)

// wrap is text to be inserted before and behind a part of a file.
type wrap struct {
	from, to      int
	before, after string
}

// surround wraps a node. Of two nodes of the same extent, the first that is wrapped is
// the outer one.
func (f *finder) surround(n ast.Node, before, after string) {
	f.wraps = append(f.wraps, wrap{f.offset(n.Pos()), f.offset(n.End()), before, after})
}

// rewritten is the file with all of its switches.
func (f *finder) rewritten() string {
	type insertion struct {
		at    int
		opens bool
		span  int // of the part that is wrapped
		order int
		text  string
	}
	var all []insertion
	for i, w := range f.wraps {
		all = append(all, insertion{w.from, true, w.to - w.from, i, w.before}, insertion{w.to, false, w.to - w.from, i, w.after})
	}
	slices.SortFunc(all, func(a, b insertion) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		if a.opens != b.opens { // what ends here ends before anything begins
			if a.opens {
				return 1
			}
			return -1
		}
		inner := cmp.Or(cmp.Compare(a.span, b.span), cmp.Compare(b.order, a.order)) // the inner one first
		if a.opens {
			return -inner
		}
		return inner
	})
	var b strings.Builder
	last := 0
	for _, in := range all {
		b.WriteString(f.text[last:in.at])
		b.WriteString(in.text)
		last = in.at
	}
	b.WriteString(f.text[last:])
	return b.String()
}

// clientWrites are the methods of a client that write.
var clientWrites = []string{"Create", "Update", "Delete", "Patch", "Apply", "DeleteAllOf"}

// swaps finds statements that write one after the other. Of three in a row there are two
// pairs, and what is inserted for the second encloses the first.
func (f *finder) swaps(list []ast.Stmt) {
	begin := 0 // of the row
	for i := range max(len(list)-1, 0) {
		first, second := list[i], list[i+1]
		if !f.standsAlone(first) || !f.writes(first) || !f.writes(second) {
			begin = i + 1
			continue
		}
		swapped, ok := f.swapped(first, second)
		if !ok {
			begin = i + 1
			continue
		}
		before := f.text[f.offset(list[begin].Pos()):f.offset(first.Pos())]
		n := f.add(first, SwapWrites, fmt.Sprintf("%s … and %s …", clip(f.brief(first)), clip(f.brief(second))))
		f.wraps = append(f.wraps, wrap{
			f.offset(list[begin].Pos()), f.offset(second.End()),
			fmt.Sprintf("if %s.On(%d) {\n%s%s\n} else {\n", alias, n, before, swapped), "\n}",
		})
	}
}

// clip cuts code off for a name.
func clip(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:longest], ""))
}

// swapped is the text of two statements the other way round, if there is one.
func (f *finder) swapped(first, second ast.Stmt) (text string, ok bool) {
	if f.standsAlone(second) {
		return f.source(second) + "\n" + f.source(first), true
	}
	ret, ok := second.(*ast.ReturnStmt)
	if !ok || !f.returnsError() || len(ret.Results) != f.results.NumFields() {
		return "", false
	}
	last := len(ret.Results) - 1
	before := ""
	for _, r := range ret.Results[:last] {
		before += f.source(r) + ", "
	}
	return fmt.Sprintf("if swappedErr := %s; swappedErr != nil {\nreturn %sswappedErr\n}\n%s\nreturn %snil",
		f.source(ret.Results[last]), before, f.source(first), before), true
}

func (f *finder) returnsError() bool {
	if f.results.NumFields() == 0 {
		return false
	}
	t, ok := f.results.List[len(f.results.List)-1].Type.(*ast.Ident)
	return ok && t.Name == "error"
}

// standsAlone reports whether a statement declares nothing for those behind it and does
// not end the function.
func (f *finder) standsAlone(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.IfStmt, *ast.RangeStmt, *ast.ForStmt, *ast.ExprStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok.String() == "="
	}
	return false
}

// writes reports whether a statement holds a call that writes.
func (f *finder) writes(s ast.Stmt) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			name := calledName(c)
			found = found || slices.Contains(clientWrites, name) || slices.Contains(f.rules.Writes, name)
		}
		return !found
	})
	return found
}
