package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer applies the profile of each package to its files.
var Analyzer = &analysis.Analyzer{
	Name: "determinism",
	Doc:  "refuse code whose outcome could differ between two runs of one seed",
	URL:  "https://github.com/seedbed-sim/seedbed",
	Run:  run,
}

// checker holds what the rules share while one package is analyzed.
type checker struct {
	pass    *analysis.Pass
	profile Profile
	pure    *purity
	file    string    // the current file, relative to the module
	syntax  *ast.File // the same, parsed
}

func run(pass *analysis.Pass) (any, error) {
	importPath, _, _ := strings.Cut(pass.Pkg.Path(), " ") // vet names test variants "p [p.test]"
	profile := profileOf(importPath)
	if profile == Free || strings.HasSuffix(importPath, ".test") { // a generated test binary
		return nil, nil
	}
	c := &checker{pass: pass, profile: profile, pure: newPurity(pass)}
	for _, f := range pass.Files {
		// The unadjusted name: a //line directive must not turn a file into a test.
		name := filepath.Base(pass.Fset.PositionFor(f.Package, false).Filename)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		c.file, c.syntax = path.Join(relative(importPath), name), f
		c.checkImports(f)
		c.checkDirectives(f)
		c.checkNames(f)
		c.checkConcurrency(f)
		c.checkFormats(f)
		c.checkFloats(f)
		c.checkGlobals(f)
		c.checkMapOrder(f)
	}
	return nil, nil
}

// report states a finding unless the policy excepts its place from the rule.
func (c *checker) report(pos token.Pos, rule Rule, format string, args ...any) {
	if excepted(c.file, c.funcAt(pos), rule) {
		return
	}
	c.pass.Reportf(pos, format+" [%s]", append(args, rule)...)
}

// funcAt names the function that pos is in, as policy.go does.
func (c *checker) funcAt(pos token.Pos) string {
	for _, d := range c.syntax.Decls {
		fd, ok := d.(*ast.FuncDecl)
		if !ok || pos < fd.Pos() || pos >= fd.End() {
			continue
		}
		if fn, ok := c.pass.TypesInfo.Defs[fd.Name].(*types.Func); ok {
			name, _ := qualified(fn)
			return name
		}
	}
	return ""
}

// inspect walks root and gives visit each node together with its ancestors,
// outermost first.
func inspect(root ast.Node, visit func(n ast.Node, ancestors []ast.Node) bool) {
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if !visit(n, stack) {
			return false
		}
		stack = append(stack, n)
		return true
	})
}
