package determinism

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// purity decides which calls have no effect that outlives them. Functions of
// the package at hand are read; others are known by name.
type purity struct {
	info   *types.Info
	decls  map[*types.Func]*ast.FuncDecl
	lits   map[types.Object]*ast.FuncLit // of variables that only ever hold one function literal
	known  map[*types.Func]bool          // also holds functions being read, as pure
	params map[types.Object]bool         // of functions being read
}

func newPurity(pass *analysis.Pass) *purity {
	p := &purity{
		info: pass.TypesInfo, decls: map[*types.Func]*ast.FuncDecl{}, lits: map[types.Object]*ast.FuncLit{},
		known: map[*types.Func]bool{}, params: map[types.Object]bool{},
	}
	for _, f := range pass.Files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil {
				if fn, ok := pass.TypesInfo.Defs[fd.Name].(*types.Func); ok {
					p.decls[fn] = fd
				}
			}
		}
	}
	for _, f := range pass.Files {
		p.findLiterals(f)
	}
	return p
}

// findLiterals notes the variables of f that are declared with a function
// literal and never assigned again.
func (p *purity) findLiterals(f *ast.File) {
	var again []types.Object
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				v := variable(p.info, lhs)
				if v == nil {
					continue
				}
				if n.Tok != token.DEFINE {
					again = append(again, v)
				} else if lit, ok := n.Rhs[min(i, len(n.Rhs)-1)].(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
					p.lits[v] = lit
				}
			}
		case *ast.UnaryExpr:
			if v := variable(p.info, ast.Unparen(n.X)); n.Op == token.AND && v != nil {
				again = append(again, v)
			}
		}
		return true
	})
	for _, v := range again {
		delete(p.lits, v)
	}
}

// impure finds the first part of an expression or declaration whose evaluation
// may have an effect; at is nil if there is none.
func (p *purity) impure(n ast.Node) (why string, at ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if at != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			if why, at = p.impureBody(n.Body, n.Type); at != nil {
				return false
			}
			return false
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				why, at = "receives from a channel", n
			}
		case *ast.CallExpr:
			if !p.pureCall(n) {
				why, at = "calls "+types.ExprString(n.Fun)+", whose effects would come in map order", n
			}
		}
		return at == nil
	})
	return why, at
}

// impureBody is impure for a function: it may write to memory of its own.
func (p *purity) impureBody(body *ast.BlockStmt, signature *ast.FuncType) (why string, at ast.Node) {
	for _, field := range signature.Params.List {
		for _, id := range field.Names {
			if v := p.info.Defs[id]; v != nil {
				p.params[v] = true
				defer delete(p.params, v)
			}
		}
	}
	own := func(e ast.Expr) bool {
		if id, ok := e.(*ast.Ident); ok && id.Name == "_" {
			return true
		}
		path := pathOf(p.info, e)
		if path == nil || isGlobal(path[0].(*types.Var)) {
			return false
		}
		declared := path[0].Pos() >= signature.Pos() && path[0].Pos() < body.End()
		return declared && ownMemory(p.info, e) || madeIn(p.info, body, path[0])
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if at != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				if n.Tok != token.DEFINE && !own(lhs) {
					why, at = "writes to "+types.ExprString(lhs), n
				}
			}
		case *ast.IncDecStmt:
			if !own(n.X) {
				why, at = "writes to "+types.ExprString(n.X), n
			}
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && p.fills(call) && own(call.Args[0]) {
				for _, arg := range call.Args[1:] {
					if why, at = p.impure(arg); at != nil {
						break
					}
				}
				return false
			}
		case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt:
			why, at = "has an effect that shows", n
		case ast.Expr:
			why, at = p.impure(n)
			return false
		}
		return at == nil
	})
	return why, at
}

// fills says whether call is a builtin that changes its first argument.
func (p *purity) fills(call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	builtin, ok := p.info.Uses[id].(*types.Builtin)
	return ok && matchAny(builtin.Name(), []string{"delete", "clear", "copy"})
}

func (p *purity) pureCall(call *ast.CallExpr) bool {
	if p.info.Types[call.Fun].IsType() {
		return true // a conversion
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if builtin, ok := p.info.Uses[id].(*types.Builtin); ok {
			return matchAny(builtin.Name(), pureBuiltins)
		}
	}
	if lit, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		_, at := p.impureBody(lit.Body, lit.Type)
		return at == nil
	}
	v := variable(p.info, ast.Unparen(call.Fun))
	if v != nil && p.params[v] {
		return true
	}
	if v != nil && p.lits[v] != nil {
		_, at := p.impureBody(p.lits[v].Body, p.lits[v].Type)
		return at == nil
	}
	fn, name := callee(p.info, call)
	if fn == nil || fn.Pkg() == nil && fn.Name() != "Error" {
		return false
	}
	if p.pureFunc(fn.Origin()) {
		return p.pureFuncArgs(call)
	}
	if fn.Signature().Recv() != nil {
		return matchAny(fn.Name(), pureComparisons) ||
			len(call.Args) == 0 && matchAny(fn.Name(), pureGetters) ||
			matchAny(name, pureFuncs[fn.Pkg().Path()])
	}
	return matchAny(name, pureFuncs[fn.Pkg().Path()])
}

// pureFuncArgs says whether the functions that a call hands over are known to
// have no effects; literals are judged where they stand.
func (p *purity) pureFuncArgs(call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		if _, isFunc := coreType(p.info.TypeOf(arg)).(*types.Signature); !isFunc {
			continue
		}
		switch x := ast.Unparen(arg).(type) {
		case *ast.FuncLit:
		case *ast.Ident:
			if fn, ok := p.info.Uses[x].(*types.Func); ok && p.pureFunc(fn.Origin()) {
				continue
			}
			if p.lits[p.info.Uses[x]] == nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// pureFunc reads a function of this package. Calls of its own parameters are
// left to pureFuncArgs.
func (p *purity) pureFunc(fn *types.Func) bool {
	if pure, ok := p.known[fn]; ok {
		return pure
	}
	decl := p.decls[fn]
	if decl == nil {
		return false
	}
	p.known[fn] = true // a recursive call adds no effect of its own
	_, at := p.impureBody(decl.Body, decl.Type)
	p.known[fn] = at == nil
	return at == nil
}

// ownMemory says whether writing to e changes only the variable it starts at:
// the way there passes no pointer, slice or map.
func ownMemory(info *types.Info, e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		_, pointer := coreType(info.TypeOf(x.X)).(*types.Pointer)
		return !pointer && ownMemory(info, x.X)
	case *ast.IndexExpr:
		_, array := coreType(info.TypeOf(x.X)).(*types.Array)
		return array && ownMemory(info, x.X)
	}
	return false
}

// madeIn says whether v is declared below n with a value that is new there, so
// that what it leads to is nobody else's.
func madeIn(info *types.Info, n ast.Node, v types.Object) bool {
	made := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				if n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) && variable(info, lhs) == v && variable(info, lhs) != nil {
					made = isNew(info, n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if info.Defs[id] == v {
					made = len(n.Values) == 0 || len(n.Values) == len(n.Names) && isNew(info, n.Values[i])
				}
			}
		}
		return true
	})
	return made
}

func isNew(info *types.Info, e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return x.Op == token.AND && isNew(info, x.X)
	case *ast.CallExpr:
		if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && (isBuiltin(info, id, "make") || isBuiltin(info, id, "new")) {
			return true
		}
		fn, _ := callee(info, x)
		return fn != nil && matchAny(fn.Name(), []string{"DeepCopy*", "Clone"})
	}
	return false
}
