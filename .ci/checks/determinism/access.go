package determinism

import (
	"go/ast"
	"go/types"
	"strings"
)

// accessPath is a variable and the fields selected from it: s.index.names. An
// element or a dereference ends the path, so m[k].x has the path of m.
type accessPath []types.Object

// pathOf is the path that e reads or writes, or nil if e does not start at a
// variable.
func pathOf(info *types.Info, e ast.Expr) accessPath {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v := variable(info, x); v != nil {
			return accessPath{v}
		}
	case *ast.SelectorExpr:
		if v, ok := info.Uses[x.Sel].(*types.Var); ok {
			if !v.IsField() {
				return accessPath{v} // a package's variable
			}
			if base := pathOf(info, x.X); base != nil && !endsInElement(x.X) {
				return append(base[:len(base):len(base)], v)
			}
		}
		return pathOf(info, x.X)
	case *ast.IndexExpr:
		return pathOf(info, x.X)
	case *ast.SliceExpr:
		return pathOf(info, x.X)
	case *ast.StarExpr:
		return pathOf(info, x.X)
	}
	return nil
}

// endsInElement says whether e passes through an element or a dereference.
func endsInElement(e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return endsInElement(x.X)
	case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr:
		return true
	}
	return false
}

func (p accessPath) overlaps(q accessPath) bool {
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

func (p accessPath) equal(q accessPath) bool {
	return len(p) == len(q) && p.overlaps(q)
}

func (p accessPath) String() string {
	names := make([]string, len(p))
	for i, v := range p {
		names[i] = v.Name()
	}
	return strings.Join(names, ".")
}

// access is one place where a path is read or written.
type access struct {
	path       accessPath
	node       ast.Expr
	lengthOnly bool // inside len or cap
}

// eachAccess calls visit for every outermost access below n until it returns
// false. Indexes are visited as accesses of their own.
func eachAccess(info *types.Info, n ast.Node, visit func(access) bool) {
	more := true
	var walk func(n ast.Node, lengthOnly bool)
	walk = func(root ast.Node, lengthOnly bool) {
		ast.Inspect(root, func(n ast.Node) bool {
			if !more {
				return false
			}
			switch x := n.(type) {
			case *ast.CallExpr:
				id, ok := ast.Unparen(x.Fun).(*ast.Ident)
				if ok && (isBuiltin(info, id, "len") || isBuiltin(info, id, "cap")) {
					walk(x.Args[0], true)
					return false
				}
			case *ast.KeyValueExpr:
				if id, ok := x.Key.(*ast.Ident); ok {
					if v, ok := info.Uses[id].(*types.Var); ok && v.IsField() {
						walk(x.Value, false)
						return false
					}
				}
			case *ast.SelectorExpr, *ast.Ident, *ast.StarExpr, *ast.SliceExpr, *ast.IndexExpr:
				if sel, ok := x.(*ast.SelectorExpr); ok && !isVar(info, sel.Sel) {
					return true // a method: its receiver is the access
				}
				if p := pathOf(info, x.(ast.Expr)); p != nil {
					more = visit(access{path: p, node: x.(ast.Expr), lengthOnly: lengthOnly})
					walkIndexes(x.(ast.Expr), func(e ast.Expr) { walk(e, false) })
					return false
				}
			}
			return true
		})
	}
	walk(n, false)
}

func isVar(info *types.Info, id *ast.Ident) bool {
	_, ok := info.Uses[id].(*types.Var)
	return ok
}

// walkIndexes visits every index within a chain of selections.
func walkIndexes(e ast.Expr, visit func(ast.Expr)) {
	switch x := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		walkIndexes(x.X, visit)
	case *ast.StarExpr:
		walkIndexes(x.X, visit)
	case *ast.IndexExpr:
		walkIndexes(x.X, visit)
		visit(x.Index)
	case *ast.SliceExpr:
		walkIndexes(x.X, visit)
		for _, i := range []ast.Expr{x.Low, x.High, x.Max} {
			if i != nil {
				visit(i)
			}
		}
	}
}

// variable is the variable an identifier defines or uses; nil for anything else
// and for the blank identifier.
func variable(info *types.Info, e ast.Expr) *types.Var {
	id, ok := e.(*ast.Ident)
	if !ok || id.Name == "_" {
		return nil
	}
	if v, ok := info.Defs[id].(*types.Var); ok {
		return v
	}
	v, _ := info.Uses[id].(*types.Var)
	return v
}
