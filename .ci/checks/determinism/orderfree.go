package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

// problem is why a loop body is not known to be free of order.
type problem struct {
	node ast.Node
	why  string // continues "line N …"
}

// effect is one write of a loop body to something that outlives an iteration.
type effect struct {
	kind  effectKind
	path  accessPath
	node  ast.Node   // the statement
	reads []ast.Node // where the statement itself may read path
	text  string     // for flags: the target and the constant written
}

type effectKind uint8

const (
	adds     effectKind = iota // += -= ++ -- on integers
	ors                        // |=
	ands                       // &= &^=
	xors                       // ^=
	flags                      // the same constant, always
	extreme                    // a minimum or maximum
	keyed                      // an element named by the loop's key
	members                    // the same change at any element: a set's Insert, or deletes
	collects                   // append
)

// exit is a return or break that ends the loop before its last element.
type exit struct {
	node  ast.Node
	block []ast.Stmt // the statements of its block
	text  string     // what it returns
}

// loopBody judges the body of one loop over a map.
type loopBody struct {
	c         *checker
	info      *types.Info
	outer     *mapLoop
	function  *ast.BlockStmt // the body of the function around the loop
	loops     []*mapLoop     // outer, and loops over maps inside it that enclose the current statement
	effects   []effect
	exits     []exit
	collected []collection
	breakable int // enclosing statements inside the body that catch a break
}

func newLoopBody(c *checker, loop *mapLoop, ancestors []ast.Node) *loopBody {
	b := &loopBody{c: c, info: c.pass.TypesInfo, outer: loop, loops: []*mapLoop{loop}}
	for _, n := range ancestors { // the innermost function comes last
		switch n := n.(type) {
		case *ast.FuncDecl:
			b.function = n.Body
		case *ast.FuncLit:
			b.function = n.Body
		}
	}
	return b
}

// judge returns nil if the body comes to the same result in any order, provided
// that what it collected is sorted afterwards.
func (b *loopBody) judge() *problem {
	if b.outer.stmt.Tok == token.ASSIGN {
		return &problem{b.outer.stmt, "leaves its variables at the last element"}
	}
	if p := b.stmts(b.outer.stmt.Body.List); p != nil {
		return p
	}
	if p := b.checkExits(); p != nil {
		return p
	}
	if p := b.checkKinds(); p != nil {
		return p
	}
	return b.checkReads()
}

func (b *loopBody) stmts(list []ast.Stmt) *problem {
	for _, s := range list {
		if p := b.stmt(s, list); p != nil {
			return p
		}
	}
	return nil
}

func (b *loopBody) stmt(s ast.Stmt, block []ast.Stmt) *problem {
	switch s := s.(type) {
	case nil, *ast.EmptyStmt:
		return nil
	case *ast.DeclStmt:
		return b.pure(s)
	case *ast.AssignStmt:
		return b.assign(s)
	case *ast.IncDecStmt:
		return b.accumulate(s, s.X, adds)
	case *ast.ExprStmt:
		return b.call(s)
	case *ast.BlockStmt:
		return b.stmts(s.List)
	case *ast.LabeledStmt:
		return b.stmt(s.Stmt, block)
	case *ast.IfStmt:
		return b.ifStmt(s)
	case *ast.SwitchStmt:
		return b.switchStmt(s.Init, s.Tag, s.Body)
	case *ast.TypeSwitchStmt:
		return b.switchStmt(s.Init, nil, s.Body)
	case *ast.RangeStmt:
		return b.rangeStmt(s)
	case *ast.ForStmt:
		return b.forStmt(s)
	case *ast.BranchStmt:
		return b.branch(s, block)
	case *ast.ReturnStmt:
		return b.returns(s, block)
	}
	return &problem{s, "does something whose order shows"}
}

func (b *loopBody) ifStmt(s *ast.IfStmt) *problem {
	if b.minMax(s) {
		return nil
	}
	if s.Init != nil {
		if p := b.stmt(s.Init, nil); p != nil {
			return p
		}
	}
	if p := b.pure(s.Cond); p != nil {
		return p
	}
	if p := b.stmts(s.Body.List); p != nil {
		return p
	}
	if s.Else != nil {
		return b.stmt(s.Else, nil)
	}
	return nil
}

func (b *loopBody) switchStmt(init ast.Stmt, tag ast.Expr, body *ast.BlockStmt) *problem {
	if init != nil {
		if p := b.stmt(init, nil); p != nil {
			return p
		}
	}
	if tag != nil {
		if p := b.pure(tag); p != nil {
			return p
		}
	}
	b.breakable++
	defer func() { b.breakable-- }()
	for _, clause := range body.List {
		clause := clause.(*ast.CaseClause)
		for _, e := range clause.List {
			if p := b.pure(e); p != nil {
				return p
			}
		}
		if p := b.stmts(clause.Body); p != nil {
			return p
		}
	}
	return nil
}

func (b *loopBody) rangeStmt(s *ast.RangeStmt) *problem {
	if s.Tok == token.ASSIGN {
		return &problem{s, "ranges with variables that outlive the loop"}
	}
	inner := b.c.mapLoop(s)
	if inner == nil {
		if p := b.pure(s.X); p != nil {
			return p
		}
		if _, iterator := coreType(b.info.TypeOf(s.X)).(*types.Signature); iterator {
			return &problem{s, "ranges over an iterator, whose effects are not known"}
		}
		b.breakable++
		defer func() { b.breakable-- }()
		return b.stmts(s.Body.List)
	}
	// A break from the inner loop is an exit: which elements it saw depends on
	// their order.
	saved := b.breakable
	b.breakable = 0
	b.loops = append(b.loops, inner)
	defer func() {
		b.breakable = saved
		b.loops = b.loops[:len(b.loops)-1]
	}()
	return b.stmts(s.Body.List)
}

func (b *loopBody) forStmt(s *ast.ForStmt) *problem {
	b.breakable++
	defer func() { b.breakable-- }()
	if p := b.stmt(s.Init, nil); p != nil {
		return p
	}
	if s.Cond != nil {
		if p := b.pure(s.Cond); p != nil {
			return p
		}
	}
	if p := b.stmt(s.Post, nil); p != nil {
		return p
	}
	return b.stmts(s.Body.List)
}

func (b *loopBody) branch(s *ast.BranchStmt, block []ast.Stmt) *problem {
	switch {
	case s.Tok == token.CONTINUE || s.Tok == token.FALLTHROUGH:
		if s.Label != nil {
			return &problem{s, "continues at a label"}
		}
		return nil
	case s.Tok == token.BREAK && s.Label == nil:
		if b.breakable == 0 {
			b.exits = append(b.exits, exit{s, block, "break"})
		}
		return nil
	}
	return &problem{s, "jumps to a label"}
}

func (b *loopBody) returns(s *ast.ReturnStmt, block []ast.Stmt) *problem {
	text := "return"
	for _, r := range s.Results {
		// A result that does not depend on the element may even be made by a
		// call with effects: it happens once or not at all.
		if b.mentionsLocal(r, nil) {
			return &problem{s, "returns what the first element met happens to be"}
		}
		text += " " + types.ExprString(r)
	}
	b.exits = append(b.exits, exit{s, block, text})
	return nil
}

// pure wraps the judgement on calls for a part of the body.
func (b *loopBody) pure(n ast.Node) *problem {
	if why, at := b.c.pure.impure(n); at != nil {
		return &problem{at, why}
	}
	return nil
}

// local says whether v lives in one iteration only.
func (b *loopBody) local(v types.Object) bool {
	s := b.outer.stmt
	return v.Pos() >= s.Pos() && v.Pos() < s.End()
}

// mentionsLocal says whether e depends on the iteration, other than through
// except.
func (b *loopBody) mentionsLocal(e ast.Node, except types.Object) bool {
	found := false
	eachAccess(b.info, e, func(a access) bool {
		if b.local(a.path[0]) && a.path[0] != except {
			found = true
		}
		return !found
	})
	return found
}
