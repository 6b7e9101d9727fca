package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
	"github.com/seedbed-sim/seedbed/fakes/apiserver/crd"
	"github.com/seedbed-sim/seedbed/scenarios/internal/form"
)

// Registry is everything that scenario files may name: systems, steps,
// properties and faults. It is built once by [New] and not changed afterwards;
// any number of goroutines may check and run scenarios with it.
type Registry struct {
	systems    []*System
	steps      []*StepKind
	properties []*Property
	kinds      *kinds
	forms      *form.Forms
	compiled   crd.Cache // of the CustomResourceDefinitions of all files
}

// New returns a registry of the given systems beside the built-in steps and the
// registered faults. It refuses systems whose names are missing, malformed or
// taken: errors of the program, told all at once.
func New(systems ...System) (*Registry, error) {
	known, err := schemeWith(systems)
	if err != nil {
		return nil, err
	}
	store := apiserver.NewStore(apiserver.Options{Scheme: known})
	r := &Registry{steps: builtinSteps(), properties: builtinProperties(), kinds: newKinds(known, store)}
	var errs []error
	for i := range systems {
		system := systems[i]
		if err := r.add(&system); err != nil {
			errs = append(errs, fmt.Errorf("system %q: %w", system.Name, err))
		}
	}
	r.buildForms()
	for _, system := range r.systems {
		if err := r.forms.CheckDefaults(system.newConfig().Elem()); err != nil {
			errs = append(errs, fmt.Errorf("system %q: configuration: %w", system.Name, err))
		}
	}
	for _, kind := range r.steps {
		if err := r.forms.CheckDefaults(reflect.New(kind.args).Elem()); err != nil {
			errs = append(errs, fmt.Errorf("step %q: %w", kind.Name, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// schemeWith is client-go's scheme with the types of systems.
func schemeWith(systems []System) (*runtime.Scheme, error) {
	known := scheme.Scheme
	for _, s := range systems {
		if s.AddToScheme == nil {
			continue
		}
		if known == scheme.Scheme { // which is shared, and stays as it is
			known = runtime.NewScheme()
			if err := scheme.AddToScheme(known); err != nil {
				return nil, fmt.Errorf("make a scheme: %w", err)
			}
		}
		if err := s.AddToScheme(known); err != nil {
			return nil, fmt.Errorf("system %q: add its types to the scheme: %w", s.Name, err)
		}
	}
	return known, nil
}

// MustNew is [New] for programs whose systems are fixed at compile time; it
// panics on an error.
func MustNew(systems ...System) *Registry {
	r, err := New(systems...)
	if err != nil {
		panic("scenarios: " + err.Error())
	}
	return r
}

var (
	systemName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	stepName   = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	plainName  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

func (r *Registry) add(s *System) error {
	switch {
	case !systemName.MatchString(s.Name):
		return errors.New("the name must be lower-case letters and digits: CEL uses it as an identifier")
	case slices.Contains(append([]string{celElapsed, celNodes, celProcesses}, "get", "list", "exists"), s.Name):
		return errors.New("the name already means something in CEL")
	case r.system(s.Name) != nil:
		return errors.New("the name is taken")
	case s.Doc == "":
		return errors.New("the doc is missing")
	case s.Build.run == nil:
		return errors.New("the build function is missing")
	}
	for _, kind := range s.Steps {
		if !stepName.MatchString(kind.Name) || kind.Doc == "" || kind.run == nil {
			return fmt.Errorf("step %q: it needs a camelCase name, a doc and a function", kind.Name)
		}
		kind.Name, kind.System = s.Name+"."+kind.Name, s.Name
		if r.step(kind.Name) != nil {
			return fmt.Errorf("step %q: the name is taken", kind.Name)
		}
		r.steps = append(r.steps, &kind)
	}
	for _, property := range s.Properties {
		if !plainName.MatchString(property.Name) || property.Meaning == "" || property.check == nil {
			return fmt.Errorf("property %q: it needs a name of lower-case words joined by dashes, a meaning and a function", property.Name)
		}
		property.Name, property.System = s.Name+"."+property.Name, s.Name
		if r.Property(property.Name) != nil {
			return fmt.Errorf("property %q: the name is taken", property.Name)
		}
		r.properties = append(r.properties, &property)
	}
	r.systems = append(r.systems, s)
	return nil
}

// buildForms ties the Go types of the format to what is registered.
func (r *Registry) buildForms() {
	f := form.NewForms()
	set := func(example any, shape form.Shape) { f.Set(reflect.TypeOf(example), shape) }
	set(Expr{}, exprShape{})
	set(Expect{}, expectShape{})
	set(Step{}, stepShape{r})
	set([]SystemUse{}, systemsShape{r})
	set(FaultUse{}, faultShape{registry: r})
	set(StartFaultArgs{}, faultShape{registry: r, step: true})
	set(Manifests{}, manifestsShape{r.kinds})
	set(Content{}, contentShape{})
	set(KindName(""), kindShape{r.kinds})
	set(FaultName(""), nameShape{reflect.TypeFor[FaultName](), "the name of a fault", r.faultNames()})
	set(ControllerName(""), nameShape{reflect.TypeFor[ControllerName](), "the name of a controller", controllerNames()})
	var names, patterns []string
	for _, p := range r.properties {
		names = append(names, p.Name)
	}
	for _, s := range r.systems {
		patterns = append(patterns, s.Name+".*")
	}
	set(PropertyPattern(""), nameShape{reflect.TypeFor[PropertyPattern](), "the name of a library property", append(patterns, names...)})
	r.forms = f
}

// Systems returns the registered systems in the order of registration.
func (r *Registry) Systems() []*System { return r.systems }

// Steps returns the built-in steps, then those of the systems.
func (r *Registry) Steps() []*StepKind { return r.steps }

// Properties returns the library: built-in properties, then those of the
// systems.
func (r *Registry) Properties() []*Property { return r.properties }

// Property returns the library property of that name, or nil.
func (r *Registry) Property(name string) *Property {
	for _, p := range r.properties {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (r *Registry) system(name string) *System {
	for _, s := range r.systems {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (r *Registry) step(name string) *StepKind {
	for _, s := range r.steps {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (r *Registry) systemNames() []string {
	names := make([]string, len(r.systems))
	for i, s := range r.systems {
		names[i] = s.Name
	}
	return names
}

func (r *Registry) stepNames() []string {
	names := make([]string, len(r.steps))
	for i, s := range r.steps {
		names[i] = s.Name
	}
	return names
}

// matching returns the library properties that a pattern names.
func (r *Registry) matching(pattern string) []*Property {
	prefix, wild := strings.CutSuffix(pattern, "*")
	var found []*Property
	for _, p := range r.properties {
		if p.Name == pattern || wild && strings.HasPrefix(p.Name, prefix) {
			found = append(found, p)
		}
	}
	return found
}
