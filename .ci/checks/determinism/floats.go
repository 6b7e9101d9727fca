package determinism

import (
	"go/ast"
	"go/token"
)

// checkFloats refuses sums of a product of floating-point numbers: some
// processors round them once and others twice. (The bans refuse functions of
// package math that differ likewise.)
func (c *checker) checkFloats(f *ast.File) {
	inspect(f, func(n ast.Node, _ []ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.ADD || n.Op == token.SUB {
				c.checkFused(n.X, n.Y)
			}
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
				c.checkFused(n.Rhs[0])
			}
		}
		return true
	})
}

func (c *checker) checkFused(operands ...ast.Expr) {
	for _, e := range operands {
		product, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if ok && product.Op == token.MUL && isFloat(c.pass.TypesInfo.TypeOf(e)) && c.pass.TypesInfo.Types[e].Value == nil {
			c.report(e.Pos(), RuleFloat, "some processors round this product and the sum in one step; write float64(a*b)")
		}
	}
}
