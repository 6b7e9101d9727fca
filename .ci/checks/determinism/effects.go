package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

// assign accepts writes to variables of the iteration and the writes to outer
// ones that commute.
func (b *loopBody) assign(s *ast.AssignStmt) *problem {
	for _, rhs := range s.Rhs {
		if p := b.pure(rhs); p != nil {
			return p
		}
	}
	switch s.Tok {
	case token.DEFINE:
		return nil
	case token.ASSIGN:
	case token.ADD_ASSIGN, token.SUB_ASSIGN:
		return b.accumulate(s, s.Lhs[0], adds)
	case token.OR_ASSIGN:
		return b.accumulate(s, s.Lhs[0], ors)
	case token.AND_ASSIGN, token.AND_NOT_ASSIGN:
		return b.accumulate(s, s.Lhs[0], ands)
	case token.XOR_ASSIGN:
		return b.accumulate(s, s.Lhs[0], xors)
	default:
		if v := variable(b.info, s.Lhs[0]); v == nil || !b.local(v) {
			return &problem{s, "combines elements in an order that shows"}
		}
		return nil
	}
	for i, lhs := range s.Lhs {
		var rhs ast.Expr
		if len(s.Rhs) == len(s.Lhs) {
			rhs = s.Rhs[i]
		}
		if p := b.write(s, lhs, rhs); p != nil {
			return p
		}
	}
	return nil
}

// write judges lhs = rhs; rhs is nil where several values come from one call.
func (b *loopBody) write(s *ast.AssignStmt, lhs, rhs ast.Expr) *problem {
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
		return nil
	}
	if p := b.pure(lhs); p != nil {
		return p
	}
	path := pathOf(b.info, lhs)
	if path == nil {
		return &problem{s, "writes to " + types.ExprString(lhs)}
	}
	if b.local(path[0]) {
		return b.writeLocal(s, lhs, rhs, path)
	}
	if b.namedByKeys(lhs) {
		b.addEffect(keyed, path, s)
		return nil
	}
	if rhs == nil {
		return &problem{s, "writes " + path.String() + " once for each element"}
	}
	if call, ok := ast.Unparen(rhs).(*ast.CallExpr); ok {
		if handled, p := b.writeCall(s, lhs, call, path); handled {
			return p
		}
	}
	if !b.mentionsLocal(rhs, nil) {
		kind := flags
		if _, indexed := ast.Unparen(lhs).(*ast.IndexExpr); indexed {
			if b.ranged(path) {
				return &problem{s, "adds to the map while it ranges over it"}
			}
			kind = members
		}
		b.effects = append(b.effects, effect{kind: kind, path: path, node: s, text: types.ExprString(rhs), reads: []ast.Node{lhs}})
		return nil
	}
	return &problem{s, "writes " + path.String() + ", so the last element wins"}
}

// writeLocal judges a write below a variable of the iteration. The variable
// itself is free; what a pointer in it leads to is shared, so there the value
// may depend only on that same variable.
func (b *loopBody) writeLocal(s *ast.AssignStmt, lhs, rhs ast.Expr, path accessPath) *problem {
	if b.ownValue(lhs) {
		return nil
	}
	if rhs == nil || b.mentionsLocal(rhs, path[0]) {
		return &problem{s, "writes through " + path[0].Name() + ", which two elements may share"}
	}
	return nil
}

// ownValue says whether lhs is memory of the iteration: a variable declared in
// it, or a part of one that was made there.
func (b *loopBody) ownValue(lhs ast.Expr) bool {
	return ownMemory(b.info, lhs) || madeIn(b.info, b.outer.stmt.Body, pathOf(b.info, lhs)[0])
}

// writeCall judges x = append(x, …), x = max(x, …) and x = min(x, …).
func (b *loopBody) writeCall(s *ast.AssignStmt, lhs ast.Expr, call *ast.CallExpr, path accessPath) (handled bool, p *problem) {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || len(call.Args) == 0 {
		return false, nil
	}
	same := func(e ast.Expr) bool { return types.ExprString(e) == types.ExprString(lhs) }
	switch {
	case isBuiltin(b.info, id, "append") && same(call.Args[0]):
		if endsInElement(lhs) {
			return true, &problem{s, "appends to " + types.ExprString(lhs) + " in map order"}
		}
		b.effects = append(b.effects, effect{kind: collects, path: path, node: s, reads: []ast.Node{lhs, call.Args[0]}})
		b.collected = append(b.collected, collection{path, s})
		return true, nil
	case isBuiltin(b.info, id, "max"), isBuiltin(b.info, id, "min"):
		if isFloat(b.info.TypeOf(lhs)) {
			return false, nil
		}
		for _, arg := range call.Args {
			if same(arg) {
				b.effects = append(b.effects, effect{kind: extreme, path: path, node: s, reads: []ast.Node{lhs, arg}, text: id.Name})
				return true, nil
			}
		}
	}
	return false, nil
}

// accumulate judges x += y and its relatives.
func (b *loopBody) accumulate(s ast.Stmt, target ast.Expr, kind effectKind) *problem {
	if p := b.pure(target); p != nil {
		return p
	}
	path := pathOf(b.info, target)
	if path == nil {
		return &problem{s, "writes to " + types.ExprString(target)}
	}
	if b.local(path[0]) && b.ownValue(target) {
		return nil
	}
	if b.namedByKeys(target) {
		b.addEffect(keyed, path, s)
		return nil
	}
	if t, ok := coreType(b.info.TypeOf(target)).(*types.Basic); !ok || t.Info()&types.IsInteger == 0 {
		if isFloat(b.info.TypeOf(target)) {
			return &problem{s, "adds floating-point numbers, whose rounding depends on the order"}
		}
		return &problem{s, "joins strings in map order"}
	}
	b.effects = append(b.effects, effect{kind: kind, path: path, node: s, reads: []ast.Node{target}})
	return nil
}

// minMax recognizes if x > m { m = x } and if x.After(m) { m = x }.
func (b *loopBody) minMax(s *ast.IfStmt) bool {
	if s.Init != nil || s.Else != nil || len(s.Body.List) != 1 {
		return false
	}
	assign, ok := s.Body.List[0].(*ast.AssignStmt)
	if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return false
	}
	target, value := types.ExprString(assign.Lhs[0]), types.ExprString(assign.Rhs[0])
	path := pathOf(b.info, assign.Lhs[0])
	if path == nil || b.local(path[0]) || b.pure(assign.Rhs[0]) != nil || isFloat(b.info.TypeOf(assign.Lhs[0])) {
		return false
	}
	var x, y ast.Expr
	var op string
	switch cond := ast.Unparen(s.Cond).(type) {
	case *ast.BinaryExpr:
		if cond.Op != token.LSS && cond.Op != token.GTR {
			return false
		}
		x, y, op = cond.X, cond.Y, cond.Op.String()
	case *ast.CallExpr:
		fn, name := b.c.callee(cond)
		sel, ok := ast.Unparen(cond.Fun).(*ast.SelectorExpr)
		if !ok || fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "time" || name != "Time.After" && name != "Time.Before" {
			return false
		}
		x, y, op = sel.X, cond.Args[0], name
	default:
		return false
	}
	a, z := types.ExprString(x), types.ExprString(y)
	if a != value || z != target {
		if a != target || z != value {
			return false
		}
		op = "reversed " + op
	}
	b.effects = append(b.effects, effect{kind: extreme, path: path, node: s, reads: []ast.Node{s.Cond, assign.Lhs[0]}, text: op})
	return true
}

// call judges a call made for its effect.
func (b *loopBody) call(s *ast.ExprStmt) *problem {
	call, ok := ast.Unparen(s.X).(*ast.CallExpr)
	if !ok {
		return b.pure(s)
	}
	for _, arg := range call.Args {
		if p := b.pure(arg); p != nil {
			return p
		}
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && isBuiltin(b.info, id, "delete") {
		return b.member(s, call.Args[0], call.Args[1:], "delete")
	}
	fn, name := b.c.callee(call)
	if fn == nil || fn.Pkg() == nil {
		return b.pure(s)
	}
	switch pkg := fn.Pkg().Path(); {
	case pkg == "k8s.io/apimachinery/pkg/util/sets" && matchAny(name, []string{"*.Insert", "*.Delete"}):
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
			return b.member(s, sel.X, call.Args, fn.Name())
		}
	case pkg == "slices" && matchAny(name, []string{"Sort*"}), pkg == "sort" && len(call.Args) > 0:
		if path := pathOf(b.info, call.Args[0]); path != nil && b.local(path[0]) {
			return nil // sorting an element in place gives the same in any order
		}
	}
	return b.pure(s)
}

// member judges adding elements to a set or taking them out, or deleting them
// from a map: what commutes as long as all do the same.
func (b *loopBody) member(s ast.Stmt, set ast.Expr, elements []ast.Expr, verb string) *problem {
	path := pathOf(b.info, set)
	if path == nil {
		return &problem{s, "changes " + types.ExprString(set)}
	}
	if b.local(path[0]) && b.ownValue(set) {
		return nil
	}
	own := len(b.loops) == 1 && len(elements) == 1 && b.outer.key != nil &&
		variable(b.info, ast.Unparen(elements[0])) == b.outer.key
	if own || b.namedByKeys(set) {
		b.effects = append(b.effects, effect{kind: keyed, path: path, node: s, reads: []ast.Node{set}})
		return nil
	}
	if b.ranged(path) {
		return &problem{s, "changes the map it ranges over at another key"}
	}
	b.effects = append(b.effects, effect{kind: members, path: path, node: s, reads: []ast.Node{set}, text: verb})
	return nil
}

// ranged says whether path may be a map that is being ranged over.
func (b *loopBody) ranged(path accessPath) bool {
	for _, loop := range b.loops {
		if p := pathOf(b.info, loop.stmt.X); p != nil && p.overlaps(path) {
			return true
		}
	}
	return false
}

func (b *loopBody) addEffect(kind effectKind, path accessPath, s ast.Node) {
	b.effects = append(b.effects, effect{kind: kind, path: path, node: s})
}

// namedByKeys says whether target is an element that no other iteration writes:
// its indexes include the key of every loop over a map around it.
func (b *loopBody) namedByKeys(target ast.Expr) bool {
	for _, loop := range b.loops {
		found := false
		walkIndexes(target, func(index ast.Expr) {
			if v := variable(b.info, ast.Unparen(index)); v != nil && v == loop.key {
				found = true
			}
		})
		if !found {
			return false
		}
	}
	return true
}

func isFloat(t types.Type) bool {
	basic, ok := coreType(t).(*types.Basic)
	return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
}
