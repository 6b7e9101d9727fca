package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

// checkGlobals refuses, in core, package-level variables that change: they
// outlive a crash of the process that set them and leak from one run into the
// next.
func (c *checker) checkGlobals(f *ast.File) {
	if c.profile != Core {
		return
	}
	inspect(f, func(n ast.Node, _ []ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			// init runs once for all processes, as variable declarations do.
			return n.Recv != nil || n.Name.Name != "init"
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, lhs := range n.Lhs {
					c.checkGlobalWrite(lhs)
				}
			}
		case *ast.IncDecStmt:
			c.checkGlobalWrite(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				c.checkGlobalWrite(n.X)
			}
		case *ast.CallExpr:
			id, ok := ast.Unparen(n.Fun).(*ast.Ident)
			if ok && (isBuiltin(c.pass.TypesInfo, id, "delete") || isBuiltin(c.pass.TypesInfo, id, "clear")) {
				c.checkGlobalWrite(n.Args[0])
			}
		case *ast.GenDecl:
			c.checkGlobalTypes(n)
		}
		return true
	})
}

func (c *checker) checkGlobalWrite(target ast.Expr) {
	id := rootIdent(c.pass.TypesInfo, target)
	if id == nil {
		return
	}
	if v, ok := c.pass.TypesInfo.Uses[id].(*types.Var); ok && isGlobal(v) {
		c.report(target.Pos(), RuleState, "package-level variable %s is written: it survives a crash and leaks "+
			"between runs; keep it in a struct that the process owns", id.Name)
	}
}

// checkGlobalTypes refuses package-level variables whose type exists to change.
func (c *checker) checkGlobalTypes(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, id := range value.Names {
			v, ok := c.pass.TypesInfo.Defs[id].(*types.Var)
			if !ok || !isGlobal(v) {
				continue
			}
			named := namedOf(v.Type())
			if named == nil || named.Obj().Pkg() == nil {
				continue
			}
			if pkg := named.Obj().Pkg().Path(); pkg == "sync" || pkg == "sync/atomic" {
				c.report(id.Pos(), RuleState, "package-level %s.%s: it survives a crash and leaks between runs; "+
					"keep it in a struct that the process owns", named.Obj().Pkg().Name(), named.Obj().Name())
			}
		}
	}
}

func isGlobal(v *types.Var) bool {
	return v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

// rootIdent is the variable at the start of a chain of fields, elements and
// dereferences, or nil.
func rootIdent(info *types.Info, e ast.Expr) *ast.Ident {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if _, qualified := info.Uses[id].(*types.PkgName); qualified {
					return x.Sel
				}
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}
