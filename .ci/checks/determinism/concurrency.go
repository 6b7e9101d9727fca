package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

// checkConcurrency refuses go statements and, in core, channels: a task that
// blocks on a channel blocks outside the scheduler's knowledge.
func (c *checker) checkConcurrency(f *ast.File) {
	inspect(f, func(n ast.Node, ancestors []ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			c.report(g.Pos(), RuleGo, "go statement; use a task of clock.Clock.NewGroup")
		}
		if c.profile == Core {
			c.checkChannel(n, ancestors)
		}
		return true
	})
}

func (c *checker) checkChannel(n ast.Node, ancestors []ast.Node) {
	const instead = "use clock.Clock.NewSignal, or a field under a sync.Mutex"
	switch n := n.(type) {
	case *ast.ChanType:
		c.report(n.Pos(), RuleChannel, "channel type; %s", instead)
	case *ast.SendStmt:
		c.report(n.Pos(), RuleChannel, "channel send; %s", instead)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && !selectCase(ancestors) {
			c.report(n.Pos(), RuleChannel, "channel receive; %s", instead)
		}
	case *ast.SelectStmt:
		c.report(n.Pos(), RuleChannel, "select statement; %s", instead)
	case *ast.RangeStmt:
		if isChan(c.pass.TypesInfo.TypeOf(n.X)) {
			c.report(n.Pos(), RuleChannel, "range over a channel; %s", instead)
		}
	case *ast.CallExpr:
		if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && isBuiltin(c.pass.TypesInfo, id, "close") {
			c.report(n.Pos(), RuleChannel, "close of a channel; %s", instead)
		}
	}
}

// selectCase says whether the innermost statement is the communication of a
// select, which is reported as a whole.
func selectCase(ancestors []ast.Node) bool {
	for i := len(ancestors) - 1; i >= 0; i-- {
		switch a := ancestors[i].(type) {
		case *ast.CommClause:
			return i+1 < len(ancestors) && ancestors[i+1] == ast.Node(a.Comm)
		case *ast.BlockStmt:
			return false
		}
	}
	return false
}

func isChan(t types.Type) bool {
	_, ok := coreType(t).(*types.Chan)
	return ok
}

func isBuiltin(info *types.Info, id *ast.Ident, name string) bool {
	b, ok := info.Uses[id].(*types.Builtin)
	return ok && b.Name() == name
}

// coreType is the underlying type of t, or for a type parameter the one
// underlying type that its constraint allows, if there is one.
func coreType(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	param, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	var core types.Type
	iface := param.Underlying().(*types.Interface)
	for i := range iface.NumEmbeddeds() {
		union, ok := iface.EmbeddedType(i).(*types.Union)
		if !ok {
			continue
		}
		for j := range union.Len() {
			u := union.Term(j).Type().Underlying()
			if core != nil && !types.Identical(core, u) {
				return iface
			}
			core = u
		}
	}
	if core == nil {
		return iface
	}
	return core
}
