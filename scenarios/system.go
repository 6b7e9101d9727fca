package scenarios

import (
	"fmt"
	"io/fs"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// System is something that scenarios run: the one seam through which a
// production system, or a reconciler of your own, joins the format. It brings
// its configuration, its processes, and if it likes steps, properties and a
// view for CEL. Registering it with [New] makes all of them known to the
// decoder, to `seedbed list` and to the JSON Schema.
type System struct {
	// Name is how scenarios and CEL call the system: lower-case letters and
	// digits. Its steps and properties are called Name.step and Name.property.
	Name string

	// Doc says in one or two sentences what the system is.
	Doc string

	// Config holds the defaults: a struct whose fields carry yaml and doc tags
	// (see [Syntax] and the documentation of the format). A scenario's
	// configuration is decoded over a copy. Nil means nothing can be configured.
	Config any

	// Check refuses a configuration that decodes but makes no sense, or does not
	// fit the cluster; nil accepts everything. See [CheckWith] and [ClusterError].
	Check ConfigCheck

	// Processes names the processes that Build starts, so that steps may refer
	// to them: see [ProcessesWith]. Nil means none.
	Processes ProcessNames

	// Build starts the system in a fresh world. See [BuildWith].
	Build Builder

	// AddToScheme adds the Go types of kinds of the system's own, which the clients
	// of its processes then know; nil means that it has none.
	AddToScheme func(*runtime.Scheme) error

	// Definitions are files and folders with the CustomResourceDefinitions of those
	// kinds, at the top of the file system; nil means none. API servers serve them
	// wherever the system runs.
	Definitions fs.FS

	// View is what CEL sees under the system's name; nil means nothing. See
	// [ViewOf].
	View *View

	// Core judges whether a part of the cluster that has recovered has converged while
	// the rest stays broken: see [CoreWith]. Nil means that nobody can tell; then trouble
	// ends for all of the cluster at once.
	Core *CoreJudge

	// Steps are the system's own steps. See [NewStep].
	Steps []StepKind

	// Properties are the system's own properties. See [NewProperty].
	Properties []Property
}

// ConfigCheck is made by [CheckWith].
type ConfigCheck struct {
	run func(config any, c Cluster) error
}

// ClusterError is an error of a system's Check about the shape of the cluster: it
// is shown at the field, such as nodes, rather than at the system.
type ClusterError struct {
	Field string
	Err   error
}

// Error is the message of Err.
func (e *ClusterError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ClusterError) Unwrap() error { return e.Err }

// ProcessNames is made by [ProcessesWith].
type ProcessNames struct {
	run func(config any, c Cluster) []string
}

// Builder is made by [BuildWith].
type Builder struct {
	run func(w *World, config any) (any, error)
}

// View is made by [ViewOf].
type View struct {
	goType reflect.Type
	run    func(state any) any
}

// CheckWith makes the Check of a system whose configuration has type C.
func CheckWith[C any](check func(config C, c Cluster) error) ConfigCheck {
	return ConfigCheck{func(config any, c Cluster) error { return check(*config.(*C), c) }}
}

// ProcessesWith makes the Processes of a system whose configuration has type C.
func ProcessesWith[C any](names func(config C, c Cluster) []string) ProcessNames {
	return ProcessNames{func(config any, c Cluster) []string { return names(*config.(*C), c) }}
}

// BuildWith makes the Build of a system whose configuration has type C and
// whose state, the handle through which steps, properties and views reach what
// was built, has type S. An error ends the run as an engine error.
func BuildWith[C, S any](build func(w *World, config C) (S, error)) Builder {
	return Builder{func(w *World, config any) (any, error) { return build(w, *config.(*C)) }}
}

// ViewOf makes the View of a system with state S. V is a struct; its exported
// fields are what CEL sees, named by their cel tags. The function is called when
// a condition that uses the view is evaluated; it must not change anything, and
// lists in the view must have an order that is part of the state.
func ViewOf[S, V any](view func(S) V) *View {
	return &View{reflect.TypeFor[V](), func(state any) any { return view(state.(S)) }}
}

// newConfig returns a pointer to a copy of the system's default configuration.
func (s *System) newConfig() reflect.Value {
	if s.Config == nil {
		return reflect.New(reflect.TypeFor[struct{}]())
	}
	defaults := reflect.ValueOf(s.Config)
	if defaults.Kind() == reflect.Pointer {
		defaults = defaults.Elem()
	}
	config := reflect.New(defaults.Type())
	config.Elem().Set(defaults)
	return config
}

// StepKind is one kind of step.
type StepKind struct {
	Name   string // camelCase; a system's steps are called system.step
	System string // the owner, or empty for built-in steps
	Doc    string // one or two sentences
	Usage  string // one example in YAML, for `seedbed list steps`

	args     reflect.Type
	optional bool // the verb may stand without arguments
	run      func(st *Story, args any) error
}

// NewStep makes a step of a system whose state has type S. A is a struct: the
// step's arguments, decoded like a configuration. The step runs as part of the
// story and may wait in virtual time through st. An error says that the story
// cannot go on, and violates the property [StoryCompletes].
func NewStep[S, A any](name, doc, usage string, run func(st *Story, system S, args A) error) StepKind {
	kind := StepKind{Name: name, Doc: doc, Usage: usage, args: reflect.TypeFor[A]()}
	kind.optional = kind.args.Kind() == reflect.Struct && kind.args.NumField() == 0
	kind.run = func(st *Story, args any) error {
		state, ok := st.state().(S)
		if !ok {
			return fmt.Errorf("the step does not belong to a system of type %v", reflect.TypeFor[S]())
		}
		return run(st, state, *args.(*A))
	}
	return kind
}
