package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"

	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// Expr is a CEL condition in a scenario.
type Expr struct {
	Source string
	Place  form.Place
	cond   *condition // set once the file has been checked
}

// Names that every condition may use.
const (
	celObjects   = "@objects" // hidden: the receiver of get, list and exists
	celElapsed   = "elapsed"
	celNodes     = "nodes"
	celProcesses = "processes"
)

// NodeView is a node as conditions see it.
type NodeView struct {
	Name string `cel:"name"`
	Up   bool   `cel:"up"`
}

// ProcessView is a process as conditions see it.
type ProcessView struct {
	Name        string `cel:"name"`
	Node        string `cel:"node"`
	Alive       bool   `cel:"alive"`
	Paused      bool   `cel:"paused"`
	Incarnation int    `cel:"incarnation"`
}

// objectsType is the CEL type of the hidden receiver.
var objectsType = cel.ObjectType("seedbed.Objects")

// conditions compiles the CEL of one scenario: the environment knows the views
// of the systems that the scenario uses.
type conditions struct {
	env    *cel.Env
	kinds  *kinds
	names  []string // what an expression may begin with, for suggestions
	fields []string // fields of the views, likewise
}

// celFunctions are the functions over API objects, with what they mean.
var celFunctions = []struct{ Name, Usage, Doc string }{
	{"get", `get("Secret", "namespace/name")`, "the object; the condition is not yet true while there is none"},
	{"exists", `exists("Secret", "namespace/name")`, "whether the object exists"},
	{"list", `list("Pod") or list("Pod", "namespace")`, "all objects of a kind, ordered by namespace and name"},
}

func newConditions(kinds *kinds, systems []*System) (*conditions, error) {
	c := &conditions{kinds: kinds, names: []string{celElapsed, celNodes, celProcesses}}
	natives := []any{reflect.TypeFor[NodeView](), reflect.TypeFor[ProcessView](), ext.ParseStructTags(true)}
	options := []cel.EnvOption{
		cel.Variable(celObjects, objectsType),
		cel.Variable(celElapsed, cel.DurationType),
		cel.Variable(celNodes, cel.ListType(cel.ObjectType("scenarios.NodeView"))),
		cel.Variable(celProcesses, cel.ListType(cel.ObjectType("scenarios.ProcessView"))),
		member("get", cel.DynType, cel.StringType, cel.StringType),
		member("exists", cel.BoolType, cel.StringType, cel.StringType),
		member("list", cel.ListType(cel.DynType), cel.StringType),
		member("list", cel.ListType(cel.DynType), cel.StringType, cel.StringType),
		ext.Strings(), ext.Lists(), ext.Sets(),
	}
	for _, f := range celFunctions {
		c.names = append(c.names, f.Name)
	}
	for _, s := range systems {
		if s.View == nil {
			continue
		}
		t := s.View.goType
		natives = append(natives, t)
		options = append(options, cel.Variable(s.Name, cel.ObjectType(nativeName(t))))
		c.names = append(c.names, s.Name)
	}
	options = append([]cel.EnvOption{ext.NativeTypes(natives...)}, options...)
	for _, native := range natives {
		if t, ok := native.(reflect.Type); ok {
			c.fields = append(c.fields, viewFields(t)...)
		}
	}
	slices.Sort(c.fields)
	c.fields = slices.Compact(c.fields)
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	c.env = env
	return c, nil
}

// viewFields lists the names that CEL knows for the fields of a view.
func viewFields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		field := t.Field(i)
		if name := field.Tag.Get("cel"); name != "" {
			names = append(names, name)
		} else if field.IsExported() {
			names = append(names, field.Name)
		}
		inner := field.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != t {
			names = append(names, viewFields(inner)...)
		}
	}
	return names
}

// nativeName is the name under which CEL knows a Go type.
func nativeName(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	return path[len(path)-1] + "." + t.Name()
}

// member declares a method of the hidden receiver and a macro that lets a
// scenario write it as a plain function.
func member(name string, result *cel.Type, args ...*cel.Type) cel.EnvOption {
	overload := name
	for _, a := range args {
		overload += "_" + a.String()
	}
	impl := func(values ...ref.Val) ref.Val {
		reader, ok := values[0].(*objectsValue)
		if !ok {
			return types.MaybeNoSuchOverloadErr(values[0])
		}
		texts := make([]string, len(values)-1)
		for i, v := range values[1:] {
			text, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			texts[i] = string(text)
		}
		return reader.call(name, texts)
	}
	all := append([]*cel.Type{objectsType}, args...)
	function := cel.Function(name, cel.MemberOverload(overload, all, result, cel.FunctionBinding(impl)))
	macro := cel.Macros(cel.GlobalMacro(name, len(args), func(eh cel.MacroExprFactory, _ ast.Expr, given []ast.Expr) (ast.Expr, *common.Error) {
		return eh.NewMemberCall(name, eh.NewIdent(celObjects), given...), nil
	}))
	return func(e *cel.Env) (*cel.Env, error) {
		e, err := function(e)
		if err != nil {
			return nil, err
		}
		return macro(e)
	}
}

// condition is one compiled expression. It holds no state and may be evaluated
// by several runs at once.
type condition struct {
	source  string
	program cel.Program
}

// compile checks one expression and reports its mistakes at their place in the
// file.
func (c *conditions) compile(e *Expr, d *form.Decoder) {
	if strings.TrimSpace(e.Source) == "" {
		d.Fail(e.Place, "the condition is empty")
		return
	}
	parsed, issues := c.env.Compile(e.Source)
	if err := issues.Err(); err != nil {
		for _, problem := range issues.Errors() {
			c.fail(e, d, problem)
		}
		return
	}
	if out := parsed.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		d.Fail(e.Place, "the condition must be true or false, but its value is of type %s", out)
		return
	}
	if !c.checkKinds(e, d, parsed) {
		return
	}
	program, err := c.env.Program(parsed, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		d.Fail(e.Place, "the condition cannot be evaluated: %v", err)
		return
	}
	e.cond = &condition{source: e.Source, program: program}
}

// errAbsent marks an evaluation that met something that does not exist (yet):
// an object, a field, an entry.
var errAbsent = errors.New("absent")

// holds evaluates the condition. The error wraps errAbsent when the answer
// depends on something that does not exist.
func (c *condition) holds(vars activation) (bool, error) {
	out, _, err := c.program.Eval(vars)
	if err != nil {
		if errors.Is(err, errAbsent) || absentMessage(err.Error()) {
			return false, fmt.Errorf("%w: %w", errAbsent, err)
		}
		return false, err
	}
	truth, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the value is of type %v, not true or false", out.Type())
	}
	return bool(truth), nil
}

// absentMessage recognises CEL's own errors about things that are not there.
func absentMessage(text string) bool {
	for _, part := range []string{"no such key", "no such attribute", "no such field", "index out of bounds"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// celDuration is virtual time in CEL.
func celDuration(d time.Duration) types.Duration { return types.Duration{Duration: d} }
