package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

const sortedKeys = "range over slices.Sorted(maps.Keys(m)) instead"

// checkMapOrder judges every iteration over a map: range statements, iterators
// of package maps, and calls that return elements in map order.
func (c *checker) checkMapOrder(f *ast.File) {
	inspect(f, func(n ast.Node, ancestors []ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if loop := c.mapLoop(n); loop != nil {
				c.checkLoop(loop, ancestors)
			}
		case *ast.CallExpr:
			if name := c.mapIterator(n); name != "" {
				c.checkIterator(n, name, ancestors)
			}
		}
		return true
	})
}

// mapLoop describes a range over a map or over an iterator of package maps; nil
// for any other loop.
func (c *checker) mapLoop(n *ast.RangeStmt) *mapLoop {
	info := c.pass.TypesInfo
	loop := &mapLoop{stmt: n}
	key, value := n.Key, n.Value
	if call, ok := ast.Unparen(n.X).(*ast.CallExpr); ok {
		switch c.mapIterator(call) {
		case "":
			// Falls through to the type of the expression.
		case "Values":
			key, value = nil, n.Key
			loop.key, loop.value = variable(info, key), variable(info, value)
			return loop
		default:
			loop.key, loop.value = variable(info, key), variable(info, value)
			return loop
		}
	}
	if _, ok := coreType(info.TypeOf(n.X)).(*types.Map); !ok {
		return nil
	}
	loop.key, loop.value = variable(info, key), variable(info, value)
	return loop
}

// mapLoop is one range statement whose order is that of a map.
type mapLoop struct {
	stmt       *ast.RangeStmt
	key, value *types.Var // nil where the loop ignores them
}

func (c *checker) checkLoop(loop *mapLoop, ancestors []ast.Node) {
	if loop.key == nil && loop.value == nil {
		return // the body cannot tell one iteration from another
	}
	body := newLoopBody(c, loop, ancestors)
	p := body.judge()
	if p == nil {
		p = c.checkSorted(body.collected, loop.stmt, ancestors)
	}
	if p != nil {
		line := c.pass.Fset.Position(p.node.Pos()).Line
		c.report(loop.stmt.Pos(), RuleOrder, "the order of map %s is visible: line %d %s; %s",
			types.ExprString(loop.stmt.X), line, p.why, sortedKeys)
	}
}

// mapIterator is the name of the function of package maps that call names, if
// it makes an iterator.
func (c *checker) mapIterator(call *ast.CallExpr) string {
	fn, name := c.callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "maps" {
		return ""
	}
	switch name {
	case "Keys", "Values", "All":
		return name
	}
	return ""
}

// orderless lists the consumers of an iterator whose result does not depend on
// its order.
var orderless = map[string][]string{
	"slices": {"Sorted", "SortedFunc", "SortedStableFunc"},
	"maps":   {"Collect"},
}

func (c *checker) checkIterator(call *ast.CallExpr, name string, ancestors []ast.Node) {
	switch parent := ancestors[len(ancestors)-1].(type) {
	case *ast.RangeStmt:
		return // judged as a loop
	case *ast.CallExpr:
		fn, consumer := c.callee(parent)
		if fn == nil || fn.Pkg() == nil {
			break
		}
		pkg := fn.Pkg().Path()
		if matchAny(consumer, orderless[pkg]) || pkg == "maps" && consumer == "Insert" && name == "All" {
			return
		}
		if pkg == "slices" && (consumer == "Collect" || consumer == "AppendSeq") && c.assignedThenSorted(parent, ancestors) {
			return
		}
	}
	c.report(call.Pos(), RuleOrder, "the order of maps.%s is visible; use slices.Sorted(maps.Keys(m))", name)
}

// assignedThenSorted says whether call is the right side of an assignment to a
// variable that is sorted before anything else reads it.
func (c *checker) assignedThenSorted(call *ast.CallExpr, ancestors []ast.Node) bool {
	if len(ancestors) < 2 {
		return false
	}
	assign, ok := ancestors[len(ancestors)-2].(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || assign.Rhs[0] != ast.Expr(call) {
		return false
	}
	target := pathOf(c.pass.TypesInfo, assign.Lhs[0])
	if target == nil {
		return false
	}
	collected := []collection{{path: target, node: assign}}
	return c.checkSorted(collected, assign, ancestors[:len(ancestors)-2]) == nil
}

// collection is a slice that received elements in map order.
type collection struct {
	path accessPath
	node ast.Node // where it happened
}

// checkSorted makes sure that each collected slice is sorted before anything
// else looks at it. It reads the statements that follow stmt in its block, then
// those that follow the enclosing statement, up to the function.
func (c *checker) checkSorted(collected []collection, stmt ast.Stmt, ancestors []ast.Node) *problem {
	for _, col := range collected {
		if !c.sortedNext(col.path, stmt, ancestors) {
			return &problem{col.node, "collects into " + col.path.String() + ", which is not sorted right after"}
		}
	}
	return nil
}

func (c *checker) sortedNext(path accessPath, stmt ast.Stmt, ancestors []ast.Node) bool {
	inner := ast.Node(stmt)
	for i := len(ancestors) - 1; i >= 0; i-- {
		list := statements(ancestors[i])
		for j, s := range list {
			if s != inner {
				continue
			}
			for _, next := range list[j+1:] {
				if c.sorts(next, path) {
					return true
				}
				if c.hands(next, path) {
					return true
				}
				if c.mentions(next, path) {
					return false
				}
			}
		}
		switch a := ancestors[i].(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return false // it leaves the function unsorted
		case *ast.RangeStmt:
			// A later iteration of an enclosing loop may look at it first.
			if c.mentionsOutside(a.Body, stmt, path) {
				return false
			}
		case *ast.ForStmt:
			if c.mentionsOutside(a.Body, stmt, path) {
				return false
			}
		}
		inner = ancestors[i]
	}
	return false
}

// sorts says whether s calls a function that sorts the slice at path.
func (c *checker) sorts(s ast.Stmt, path accessPath) bool {
	expr, ok := s.(*ast.ExprStmt)
	return ok && c.sortCall(expr.X, path)
}

// hands says whether s returns or assigns the slice at path only by way of a
// function that sorts: errs = sorted(errs).
func (c *checker) hands(s ast.Stmt, path accessPath) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return len(s.Lhs) == 1 && len(s.Rhs) == 1 && c.sortCall(s.Rhs[0], path)
	case *ast.ReturnStmt:
		return len(s.Results) == 1 && c.sortCall(s.Results[0], path)
	}
	return false
}

// sortCall says whether e is a call that sorts the slice at path: of packages
// sort and slices, or of a function of the project whose name starts with sort.
func (c *checker) sortCall(e ast.Expr, path accessPath) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	id := calleeIdent(call)
	if id == nil {
		return false
	}
	if fn, ok := c.pass.TypesInfo.Uses[id].(*types.Func); !ok || fn.Pkg() == nil ||
		fn.Pkg().Path() != "sort" && !strings.HasPrefix(strings.ToLower(fn.Name()), "sort") {
		return false
	}
	for _, arg := range call.Args {
		if conv, ok := ast.Unparen(arg).(*ast.CallExpr); ok && len(conv.Args) == 1 && c.pass.TypesInfo.Types[conv.Fun].IsType() {
			arg = conv.Args[0] // sort.Sort(byName(list))
		}
		if p := pathOf(c.pass.TypesInfo, arg); p != nil && p.equal(path) {
			return true
		}
	}
	return false
}

// mentions says whether n looks at path, other than at its length or to append
// to it.
func (c *checker) mentions(n ast.Node, path accessPath) bool {
	return c.mentionsOutside(n, nil, path)
}

func (c *checker) mentionsOutside(n, skip ast.Node, path accessPath) bool {
	found := false
	growing := c.growth(n, path)
	eachAccess(c.pass.TypesInfo, n, func(a access) bool {
		if skip != nil && a.node.Pos() >= skip.Pos() && a.node.End() <= skip.End() {
			return true
		}
		if a.path.overlaps(path) && !a.lengthOnly && !inside(a.node, growing) {
			found = true
		}
		return !found
	})
	return found
}

// growth lists the places in n where the slice at path is only appended to.
func (c *checker) growth(n ast.Node, path accessPath) []ast.Node {
	var places []ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return true
		}
		call, ok := assign.Rhs[0].(*ast.CallExpr)
		if !ok {
			return true
		}
		id, ok := call.Fun.(*ast.Ident)
		if !ok || !isBuiltin(c.pass.TypesInfo, id, "append") {
			return true
		}
		to, from := pathOf(c.pass.TypesInfo, assign.Lhs[0]), pathOf(c.pass.TypesInfo, call.Args[0])
		if to != nil && from != nil && to.equal(path) && from.equal(path) && !endsInElement(assign.Lhs[0]) {
			places = append(places, assign.Lhs[0], call.Args[0])
		}
		return true
	})
	return places
}

// statements is the statement list that n holds directly.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}
