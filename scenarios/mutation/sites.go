package mutation

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Operator is a way to break code.
type Operator string

// The operators.
const (
	DropGuard        Operator = "drop-guard"        // an early return, or the next turn of a loop, is not taken
	DropPrecondition Operator = "drop-precondition" // a write goes through whatever has become of the object
	IgnoreError      Operator = "ignore-error"      // it goes on as if nothing had failed
	SkipCheck        Operator = "skip-check"        // a condition, or a part of it, is not asked for
	SwapWrites       Operator = "swap-writes"       // two writes that follow each other, the other way round
)

// Operators lists them in the order of the table.
func Operators() []Operator {
	return []Operator{DropPrecondition, DropGuard, SkipCheck, IgnoreError, SwapWrites}
}

// Site is one place where code can be broken in one way.
type Site struct {
	File     string // the name within the package's folder
	Function string // with the type of its receiver, such as members.add
	Operator Operator
	How      string // the code in question, and what becomes of it
	Again    int    // 2 for the second such site of the function, and so on
	Line     int    // of the file as it is
}

// ID is how the list of survivors calls the site. Lines play no part, so that it stays
// while the function does.
func (s *Site) ID() string {
	id := fmt.Sprintf("%s %s %s: %s", s.File, s.Function, s.Operator, s.How)
	if s.Again > 1 {
		id += fmt.Sprintf(" #%d", s.Again)
	}
	return id
}

// Rules say what of a package is broken.
type Rules struct {
	// Functions decides by the name, in the form of [Site.Function], and the file. Nil
	// takes all.
	Functions func(file, function string) bool

	// WithContext takes only those functions, and those function literals, that are
	// handed a context, which is what sets controllers apart from their judges where
	// both stand in one package.
	WithContext bool

	// Writes are the names of functions that write, besides those of a client.
	Writes []string

	// Preconditions are the names of functions that make one.
	Preconditions []string

	// Given are conditions that always hold where the package is measured: to take them
	// for true breaks nothing.
	Given []string
}

// finder goes through one file.
type finder struct {
	rules    *Rules
	name     string
	text     string
	fset     *token.FileSet
	base     int
	function string
	results  *ast.FieldList // of the function, or the literal, that is gone through

	next  int // the number of the next mutant
	sites []Site
	wraps []wrap
}

// find finds the sites of a file and what is to be inserted for them; mutants are numbered from
// first on.
func find(rules *Rules, name, text string, first int) (*finder, error) {
	f := &finder{rules: rules, name: name, text: text, fset: token.NewFileSet(), next: first}
	file, err := parser.ParseFile(f.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	f.base = f.fset.File(file.FileStart).Base()
	for _, decl := range file.Decls {
		fd, ok := decl.(*ast.FuncDecl)
		if !ok || fd.Body == nil {
			continue
		}
		f.function = functionName(fd)
		if rules.Functions == nil || rules.Functions(name, f.function) {
			f.body(fd.Type, fd.Body, !rules.WithContext)
		}
	}
	seen := map[string]int{}
	for i := range f.sites {
		s := &f.sites[i]
		seen[s.ID()]++
		s.Again = seen[s.ID()]
	}
	if len(f.sites) > 0 {
		at := f.offset(file.Name.End())
		f.wraps = append(f.wraps, wrap{from: at, to: at, before: "\n\nimport " + alias + " " + fmt.Sprintf("%q", switchesPath)})
	}
	return f, nil
}

func functionName(fd *ast.FuncDecl) string {
	if fd.Recv == nil {
		return fd.Name.Name
	}
	t := fd.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fd.Name.Name
		default:
			return fd.Name.Name
		}
	}
}

func (f *finder) offset(p token.Pos) int { return int(p) - f.base }

func (f *finder) source(n ast.Node) string { return f.text[f.offset(n.Pos()):f.offset(n.End())] }

// brief is code in one line.
func (f *finder) brief(n ast.Node) string {
	return strings.Join(strings.Fields(f.source(n)), " ")
}

// add notes a site and returns the number of its mutant.
func (f *finder) add(at ast.Node, op Operator, how string) int {
	f.sites = append(f.sites, Site{File: f.name, Function: f.function, Operator: op, How: how, Line: f.fset.Position(at.Pos()).Line})
	f.next++
	return f.next - 1
}

// body goes through a function. What is not inside, because it is not handed a context, is
// searched for literals that are.
func (f *finder) body(t *ast.FuncType, body *ast.BlockStmt, inside bool) {
	inside = inside || takesContext(t)
	before := f.results
	f.results = t.Results
	ast.Inspect(body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			f.body(lit.Type, lit.Body, inside)
			return false
		}
		if inside {
			f.node(n)
		}
		return true
	})
	f.results = before
}

func takesContext(t *ast.FuncType) bool {
	return slices.ContainsFunc(t.Params.List, func(p *ast.Field) bool {
		sel, ok := p.Type.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Context"
	})
}

func (f *finder) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		if !sleeps(n) {
			f.condition(n.Cond, n.Else == nil && leaves(n.Body.List))
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			f.cases(n)
		}
	case *ast.BinaryExpr:
		f.operands(n)
	case *ast.CallExpr:
		f.preconditions(n)
	case *ast.CompositeLit:
		f.fields(n)
	case *ast.BlockStmt:
		f.swaps(n.List)
	case *ast.CaseClause:
		f.swaps(n.Body)
	}
}

func (f *finder) cases(s *ast.SwitchStmt) {
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			f.condition(e, leaves(clause.(*ast.CaseClause).Body))
		}
	}
}

// given reports whether a condition always holds, or never.
func (f *finder) given(e ast.Expr) (value, known bool) {
	text := f.brief(e)
	if slices.Contains(f.rules.Given, text) {
		return true, true
	}
	return false, strings.HasPrefix(text, "!") && slices.Contains(f.rules.Given, text[1:])
}

// condition breaks what an if or a case asks for: a guard lets everything through, an error
// is not looked at, and what else is done on a condition is done always.
func (f *finder) condition(e ast.Expr, guard bool) {
	value, known := f.given(e)
	switch {
	case known && value == !guard:
		return
	case isErrorCheck(e):
		f.force(e, IgnoreError, false)
	case guard:
		f.force(e, DropGuard, false)
	default:
		f.force(e, SkipCheck, true)
	}
}

// force is a site at which a condition is taken for true, or for false.
func (f *finder) force(e ast.Expr, op Operator, to bool) {
	n := f.add(e, op, fmt.Sprintf("%s is taken for %t", f.brief(e), to))
	if to {
		f.surround(e, fmt.Sprintf("(%s.On(%d) || (", alias, n), "))")
		return
	}
	f.surround(e, fmt.Sprintf("(!%s.On(%d) && (", alias, n), "))")
}

// operands drops each part of a condition by itself.
func (f *finder) operands(e *ast.BinaryExpr) {
	if e.Op != token.LAND && e.Op != token.LOR {
		return
	}
	neutral := e.Op == token.LAND
	for _, part := range []ast.Expr{e.X, e.Y} {
		if inner, ok := part.(*ast.BinaryExpr); ok && inner.Op == e.Op {
			continue // its own parts are
		}
		if value, known := f.given(part); known && value == neutral {
			continue
		}
		if isErrorCheck(part) {
			continue // the rest of the condition is about the error
		}
		f.force(part, SkipCheck, neutral)
	}
}

// isErrorCheck reports whether an expression is err != nil, or that and something else.
func isErrorCheck(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	switch {
	case !ok:
		return false
	case b.Op == token.LAND:
		return isErrorCheck(b.X)
	case b.Op != token.NEQ:
		return false
	}
	null, ok := b.Y.(*ast.Ident)
	if !ok || null.Name != "nil" {
		return false
	}
	switch x := b.X.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(x.Name), "err")
	case *ast.CallExpr:
		return calledName(x) == "IgnoreNotFound" || calledName(x) == "Err"
	}
	return false
}

// sleeps reports whether an if asks how a sleep has ended: with an error only when the
// process ends, and then no code runs any more.
func sleeps(n *ast.IfStmt) bool {
	found := false
	for _, part := range []ast.Node{n.Init, n.Cond} {
		if part == nil {
			continue
		}
		ast.Inspect(part, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			found = found || ok && calledName(c) == "Sleep"
			return !found
		})
	}
	return found
}

// leaves reports whether statements end by leaving the function or the turn of a loop.
func leaves(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// calledName is the name of what a call calls, without what stands before it.
func calledName(c *ast.CallExpr) string {
	switch fun := c.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// preconditions drops those that a call makes, and the resource version of what it updates.
func (f *finder) preconditions(c *ast.CallExpr) {
	for _, arg := range c.Args {
		if made, ok := arg.(*ast.CallExpr); ok && slices.Contains(f.rules.Preconditions, calledName(made)) {
			n := f.add(arg, DropPrecondition, f.brief(arg)+" is left away")
			f.surround(arg, fmt.Sprintf("%s.Zero(%d, ", alias, n), ")")
		}
	}
	if calledName(c) == "Update" && len(c.Args) >= 2 {
		object := c.Args[1]
		n := f.add(object, DropPrecondition, fmt.Sprintf("%s without the resource version", f.brief(c)))
		f.surround(object, fmt.Sprintf("%s.Unversioned(%d, ", alias, n), ")")
	}
}

// fields drops those of a precondition.
func (f *finder) fields(l *ast.CompositeLit) {
	sel, ok := l.Type.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Preconditions" {
		return
	}
	for _, element := range l.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok {
			n := f.add(field, DropPrecondition, f.brief(field)+" is left away")
			f.surround(field.Value, fmt.Sprintf("%s.Zero(%d, ", alias, n), ")")
		}
	}
}
