package scenarios

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// fail reports one mistake that CEL found.
func (c *conditions) fail(e *Expr, d *form.Decoder, problem *common.Error) {
	line, column := problem.Location.Line(), problem.Location.Column()
	at := e.Place
	node := *at.Node
	node.Line, node.Column = d.Doc.Inside(at, textOffset(e.Source, line, column))
	at.Node = &node
	message := strings.TrimSuffix(problem.Message, " (in container '')")
	if name, ok := quoted(message, "undeclared reference to '"); ok {
		if usage := usageOf(name); usage != "" {
			d.Fail(at, "CEL: %s is not called like this; write %s", name, usage)
			return
		}
		d.FailName(at, name, c.names, "CEL: %s is not known here", name)
		return
	}
	if name, ok := quoted(message, "undefined field '"); ok {
		d.FailName(at, name, c.fields, "CEL: there is no field %q", name)
		return
	}
	if name, ok := quoted(message, "found no matching overload for '"); ok {
		_, given, _ := strings.Cut(message, "applied to '")
		given = strings.TrimSuffix(strings.TrimPrefix(given, "seedbed.Objects."), "'")
		if usage := usageOf(name); usage != "" {
			d.Fail(at, "CEL: %s does not take %s; write %s", name, given, usage)
			return
		}
		d.Fail(at, "CEL: %s does not take %s", strings.Trim(name, "_"), given)
		return
	}
	d.Fail(at, "CEL: %s", strings.TrimPrefix(message, "Syntax error: "))
}

// quoted returns what stands between the prefix and the next quote.
func quoted(message, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(message, prefix)
	if !ok {
		return "", false
	}
	name, _, ok := strings.Cut(rest, "'")
	return name, ok
}

// usageOf shows how a function over objects is called; empty for other names.
func usageOf(name string) string {
	for _, f := range celFunctions {
		if f.Name == name {
			return f.Usage
		}
	}
	return ""
}

// textOffset turns CEL's line (from 1) and column (from 0) into an offset in
// runes.
func textOffset(source string, line, column int) int {
	offset := 0
	for i, text := range strings.Split(source, "\n") {
		if i+1 >= line {
			break
		}
		offset += len([]rune(text)) + 1
	}
	return offset + max(column, 0)
}

// checkKinds refuses kinds and object names that cannot exist, which CEL sees
// as mere text.
func (c *conditions) checkKinds(e *Expr, d *form.Decoder, parsed *cel.Ast) bool {
	native := parsed.NativeRep()
	ok := true
	refuse := func(id int64, got string, format string, args ...any) {
		ok = false
		at := e.Place
		node := *at.Node
		location := native.SourceInfo().GetStartLocation(id)
		node.Line, node.Column = d.Doc.Inside(at, textOffset(e.Source, location.Line(), location.Column()))
		at.Node = &node
		var names []string
		if got != "" {
			names = c.kinds.names()
		}
		d.FailNear(at, got, names, format, args...)
	}
	visit := func(expr ast.Expr) {
		if expr.Kind() != ast.CallKind || !slices.Contains(c.names, expr.AsCall().FunctionName()) {
			return
		}
		call := expr.AsCall()
		if !call.IsMemberFunction() || call.Target().Kind() != ast.IdentKind || call.Target().AsIdent() != celObjects {
			return
		}
		kindText, literal := literalText(call.Args()[0])
		if !literal {
			refuse(call.Args()[0].ID(), "", "CEL: the kind must be written out, as in %s(\"Secret\", …)", call.FunctionName())
			return
		}
		kind, known := c.kinds.lookup(kindText)
		if !known {
			refuse(call.Args()[0].ID(), kindText, "CEL: unknown kind %q; write a kind of Kubernetes, or version and kind such as example.com/v1/Widget", kindText)
			return
		}
		if call.FunctionName() == "list" {
			return
		}
		if name, literal := literalText(call.Args()[1]); literal {
			if err := kind.checkName(name); err != nil {
				refuse(call.Args()[1].ID(), "", "CEL: %v", err)
			}
		}
	}
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(visit))
	return ok
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}
