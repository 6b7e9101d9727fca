package determinism

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strconv"
	"strings"
)

// checkImports refuses packages that core must not know.
func (c *checker) checkImports(f *ast.File) {
	if c.profile != Core {
		return
	}
	for _, spec := range f.Imports {
		pkg, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		for _, b := range coreImportBans {
			if within(pkg, b.pkg) && !withinAny(pkg, b.except) {
				c.report(spec.Pos(), b.rule, "import of %s; use %s", pkg, b.instead)
			}
		}
	}
}

// checkDirectives refuses compiler directives that reach around the rules.
func (c *checker) checkDirectives(f *ast.File) {
	if c.profile != Core {
		return
	}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:linkname ") {
				c.report(comment.Pos(), RuleHost, "go:linkname reaches around every rule of core")
			}
		}
	}
}

// checkNames looks at every use of a name, so that a function stored in a
// variable or imported under another name is found as well.
func (c *checker) checkNames(f *ast.File) {
	inspect(f, func(n ast.Node, _ []ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if obj := c.pass.TypesInfo.Uses[id]; obj != nil && obj.Pkg() != nil {
				c.checkUse(id, obj)
			}
		}
		return true
	})
}

func (c *checker) checkUse(id *ast.Ident, obj types.Object) {
	name, ok := qualified(obj)
	if !ok {
		return
	}
	pkg := obj.Pkg().Path()
	if c.profile == Core && pkg == "net/http" && !matchAny(name, httpNames) {
		c.report(id.Pos(), RuleHost, "use of http.%s; use a port bound in realmode", name)
	}
	for _, b := range bans {
		if b.pkg == pkg && b.profiles&c.profile != 0 && matchAny(name, b.names) && !matchAny(name, b.except) {
			c.report(id.Pos(), b.rule, "use of %s.%s; use %s", obj.Pkg().Name(), name, b.instead)
			return
		}
	}
	if name == "SetStatusCondition" && pkg == "k8s.io/apimachinery/pkg/api/meta" {
		c.checkCondition(id)
	}
}

// checkCondition refuses meta.SetStatusCondition unless the call shows that the
// condition has a LastTransitionTime: without one it reads the real time.
func (c *checker) checkCondition(id *ast.Ident) {
	stamped := false
	for _, f := range c.pass.Files {
		if f.Pos() > id.Pos() || id.Pos() >= f.End() {
			continue
		}
		inspect(f, func(n ast.Node, _ []ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && calleeIdent(call) == id && len(call.Args) == 2 {
				stamped = hasKey(call.Args[1], "LastTransitionTime")
			}
			return true
		})
	}
	if !stamped {
		c.report(id.Pos(), RuleTime, "meta.SetStatusCondition reads time.Now when LastTransitionTime is zero; "+
			"pass a literal whose LastTransitionTime is metav1.NewTime(clock.Now())")
	}
}

func hasKey(expr ast.Expr, key string) bool {
	lit, ok := ast.Unparen(expr).(*ast.CompositeLit)
	if !ok {
		return false
	}
	for _, elt := range lit.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == key {
				return true
			}
		}
	}
	return false
}

// checkFormats refuses %p, which prints an address.
func (c *checker) checkFormats(f *ast.File) {
	inspect(f, func(n ast.Node, _ []ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, arg := range call.Args {
			tv := c.pass.TypesInfo.Types[arg]
			if tv.Value == nil || tv.Value.Kind() != constant.String {
				continue
			}
			if format := strings.ReplaceAll(constant.StringVal(tv.Value), "%%", ""); hasVerb(format, 'p') {
				c.report(arg.Pos(), RuleAddress, "%%p prints an address; print a name")
			}
		}
		return true
	})
}

// hasVerb says whether format has the verb, with any flags and width.
func hasVerb(format string, verb byte) bool {
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return false
		}
		rest = strings.TrimLeft(rest, "+-# 0123456789.[]*")
		if rest != "" && rest[0] == verb {
			return true
		}
		format = rest
	}
}

// qualified is the name of a package-level object, or Type.Member of a method.
func qualified(obj types.Object) (string, bool) {
	if fn, ok := obj.(*types.Func); ok {
		if recv := fn.Signature().Recv(); recv != nil {
			named := namedOf(recv.Type())
			if named == nil {
				return "", false
			}
			return named.Obj().Name() + "." + obj.Name(), true
		}
	}
	return obj.Name(), obj.Parent() == obj.Pkg().Scope()
}

func namedOf(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// calleeIdent is the identifier that names the function of a call, or nil.
func calleeIdent(call *ast.CallExpr) *ast.Ident {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	switch f := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// callee is the function or method a call names, with its qualified name, or
// nil for a call of a function value.
func (c *checker) callee(call *ast.CallExpr) (fn *types.Func, name string) {
	return callee(c.pass.TypesInfo, call)
}

func callee(info *types.Info, call *ast.CallExpr) (fn *types.Func, name string) {
	id := calleeIdent(call)
	if id == nil {
		return nil, ""
	}
	fn, ok := info.Uses[id].(*types.Func)
	if !ok {
		return nil, ""
	}
	name, _ = qualified(fn)
	return fn, name
}

func within(pkg, tree string) bool {
	return pkg == tree || strings.HasPrefix(pkg, tree+"/")
}

func withinAny(pkg string, trees []string) bool {
	for _, t := range trees {
		if within(pkg, t) {
			return true
		}
	}
	return false
}

// matchAny matches name against patterns with at most one *, first or last.
func matchAny(name string, patterns []string) bool {
	for _, p := range patterns {
		prefix, suffix, wild := strings.Cut(p, "*")
		switch {
		case !wild && name == p:
			return true
		case wild && len(name) >= len(prefix)+len(suffix) &&
			strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix):
			return true
		}
	}
	return false
}
