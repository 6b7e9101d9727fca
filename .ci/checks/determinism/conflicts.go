package determinism

import (
	"go/ast"
	"go/types"
)

// checkExits allows leaving the loop early only if it cannot be told which
// element was met first: every exit says the same, and nothing else was written
// on the way but a constant beside the only exit.
func (b *loopBody) checkExits() *problem {
	if len(b.exits) == 0 {
		return nil
	}
	for _, e := range b.exits[1:] {
		if e.text != b.exits[0].text {
			return &problem{e.node, "leaves the loop in another way than before, so the first element met decides"}
		}
	}
	for _, eff := range b.effects {
		if b.forgotten(eff) {
			continue
		}
		beside := false
		for _, s := range b.exits[0].block {
			beside = beside || s == eff.node
		}
		if eff.kind != flags || !beside || len(b.exits) > 1 {
			return &problem{eff.node, "writes " + eff.path.String() + " in a loop that ends early"}
		}
	}
	return nil
}

// forgotten says whether nobody can see what an effect wrote once the loop was
// left early: every exit returns, and it wrote to a variable of the function.
func (b *loopBody) forgotten(eff effect) bool {
	for _, e := range b.exits {
		if _, returns := e.node.(*ast.ReturnStmt); !returns {
			return false
		}
	}
	v := eff.path[0]
	if b.function == nil || v.Pos() < b.function.Pos() || v.Pos() >= b.function.End() {
		return false
	}
	_, basic := v.Type().Underlying().(*types.Basic)
	return basic || eff.kind == collects && len(eff.path) == 1 || madeIn(b.info, b.function, v)
}

// checkKinds refuses two writes to one thing that do not commute.
func (b *loopBody) checkKinds() *problem {
	for i, e := range b.effects {
		for _, f := range b.effects[:i] {
			if !e.path.overlaps(f.path) {
				continue
			}
			if e.kind != f.kind || e.text != f.text || len(e.path) != len(f.path) {
				return &problem{e.node, "writes " + e.path.String() + " in two ways whose order shows"}
			}
		}
	}
	return nil
}

// checkReads refuses a body that looks at what it writes: a running count or a
// flag tells how many elements came before.
func (b *loopBody) checkReads() *problem {
	var p *problem
	var writing []ast.Node // where a write itself may read its target
	for _, e := range b.effects {
		writing = append(writing, e.reads...)
	}
	eachAccess(b.info, b.outer.stmt.Body, func(a access) bool {
		for _, e := range b.effects {
			if !a.path.overlaps(e.path) || inside(a.node, writing) {
				continue
			}
			if (e.kind == keyed || e.kind == members) && b.namedByOuterKey(a.node) {
				continue
			}
			p = &problem{a.node, "reads " + a.path.String() + ", which the loop also writes"}
			return false
		}
		return true
	})
	return p
}

// namedByOuterKey is namedByKeys for the judged loop alone.
func (b *loopBody) namedByOuterKey(e ast.Expr) bool {
	found := false
	walkIndexes(e, func(index ast.Expr) {
		if v := variable(b.info, ast.Unparen(index)); v != nil && v == b.outer.key {
			found = true
		}
	})
	return found
}

func inside(n ast.Node, nodes []ast.Node) bool {
	for _, m := range nodes {
		if n.Pos() >= m.Pos() && n.End() <= m.End() {
			return true
		}
	}
	return false
}
